//! A peer as a child process, on an address of its own, gone with the test.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::Duration;
use std::{env, fs, thread};

/// Runs what it is given, and asks its process group to end when standard input does: when the daemon is dropped, and also
/// when the test program is killed. What has not ended after five seconds, or outlives the daemon, is killed.
const WATCHED: &str = r#"
trap : TERM
exec 3<&0
(trap : TERM; read -r _ <&3; kill -TERM 0; sleep 5; kill -KILL 0) &
"$@" </dev/null 3<&-
kill -KILL 0
"#;

/// How long a daemon may take until it listens: so many polls.
const POLLS: u32 = 1_000;
const POLL: Duration = Duration::from_millis(10);

/// A running peer.
pub(crate) struct Daemon {
    watch: Child,
    folder: Folder,
}

impl Daemon {
    /// Starts a program of a Debian package and waits until it listens.
    pub(crate) fn start(
        (program, package): (&str, &str),
        args: &[&str],
        folder: Folder,
        listens: &[SocketAddr],
    ) -> Self {
        let output = fs::File::create(folder.path().join("output")).expect("a file for its output");
        let watch = Command::new("sh")
            .args(["-c", WATCHED, "sh"])
            .arg(installed(program, package))
            .args(args)
            .current_dir(folder.path())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(output.try_clone().expect("a file"))
            .stderr(output)
            .spawn()
            .expect("a shell");
        let mut daemon = Self { watch, folder };
        for address in listens {
            daemon.wait_for(program, *address);
        }
        daemon
    }

    fn wait_for(&mut self, program: &str, address: SocketAddr) {
        for _ in 0..POLLS {
            let ended = self.watch.try_wait().expect("a child");
            if ended.is_none() && TcpStream::connect(address).is_ok() {
                return;
            }
            if ended.is_some() {
                panic!("{program} ended before it listened at {address}: {}", self.output());
            }
            thread::sleep(POLL);
        }
        panic!("{program} does not listen at {address}: {}", self.output());
    }

    /// What it printed.
    pub(crate) fn output(&self) -> String {
        fs::read_to_string(self.folder.path().join("output")).unwrap_or_default()
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.watch.stdin.take());
        let _ = self.watch.wait();
    }
}

/// Where a program is. Daemons may lie outside of a user's path.
fn installed(program: &str, package: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let found = folders.map(|folder| folder.join(program)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{program} is not installed: apt-get install {package}"))
}

/// A loopback address that no other test has, in this process or another: 127.64.0.0/10 by the process's number.
pub(crate) fn address() -> IpAddr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let [.., high, low] = std::process::id().to_be_bytes();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    assert!(number < u8::MAX, "more addresses than one process has");
    Ipv4Addr::new(127, 64 | high & 0x3f, low, number).into()
}

/// A port that is free at an address, and with an address of one's own stays so.
pub(crate) fn port(address: IpAddr) -> u16 {
    let listener = TcpListener::bind((address, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A folder that daemons may read and write, whatever user they change to.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("tower-egress-peers-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("its owner's");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A file in it; its path as text.
    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("its owner's");
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
