//! The site: nginx, plain and with TLS and h2, and its log, which tells from which address each request came.

use crate::daemon::{Daemon, Folder, address, port};
use crate::pki::Authority;
use std::cell::Cell;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// What this crate's client speaks inside TLS.
pub(crate) const OVER_TLS: &str = "HTTP/2.0";
/// Bytes of the big page: more than any buffer on the way holds.
pub(crate) const BIG: usize = 3 << 20;
/// A name of the site for proxies that are told its address, beside `localhost`.
pub(crate) const NAME: &str = "shop.test";

pub(crate) struct Nginx {
    daemon: Daemon,
    authority: Authority,
    ip: IpAddr,
    plain: u16,
    tls: u16,
    read: Cell<usize>,
}

impl Nginx {
    pub(crate) fn start() -> Self {
        let (folder, authority, ip) = (Folder::new(), Authority::new(), address());
        // `localhost` is the one name that every proxy's resolver knows.
        let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let [plain, tls] = [port(local), port(local)];
        let (certificate, key) = authority.certificate(&[ip.to_string(), "localhost".into(), NAME.into()]);
        folder.file("site.pem", &certificate);
        folder.file("site.key", &key);
        folder.file("big", &"b".repeat(BIG));
        let (configured, own) = (folder.file("nginx.conf", &config(ip, plain, tls)), folder.path().display());
        let args = ["-p", &own.to_string(), "-e", "error.log", "-c", &configured];
        let listens = [(ip, plain), (ip, tls), (local, plain), (local, tls)].map(SocketAddr::from);
        let daemon = Daemon::start(("nginx", "nginx"), &args, folder, &listens);
        Self { daemon, authority, ip, plain, tls, read: Cell::new(0) }
    }

    /// The root to trust.
    pub(crate) fn roots(&self) -> &str {
        &self.authority.pem
    }

    pub(crate) fn ip(&self) -> IpAddr {
        self.ip
    }

    pub(crate) fn plain_port(&self) -> u16 {
        self.plain
    }

    pub(crate) fn tls_port(&self) -> u16 {
        self.tls
    }

    /// A page by address, plain.
    pub(crate) fn plain(&self, path: &str) -> String {
        format!("http://{}:{}{path}", self.ip, self.plain)
    }

    /// A page by address, with TLS.
    pub(crate) fn tls(&self, path: &str) -> String {
        format!("https://{}:{}{path}", self.ip, self.tls)
    }

    /// What it was asked since the last time, as `POST HTTP/1.1 http /path body`. All of it came from the exit.
    pub(crate) fn asked_by(&self, exit: IpAddr) -> Vec<String> {
        self.fence();
        let log = fs::read_to_string(self.daemon.folder().path().join("access.log")).unwrap();
        let lines: Vec<&str> = log.lines().skip(self.read.get()).collect();
        self.read.set(self.read.get() + lines.len());
        let exit = exit.to_string();
        let asked = lines.into_iter().map(|line| match line.split_once(' ') {
            Some((peer, asked)) if peer == exit => asked.trim_end().to_owned(),
            _ => panic!("not from the exit {exit}: {line}"),
        });
        asked.collect()
    }

    /// It is one process with one loop: when it answers, it has logged what it answered before.
    fn fence(&self) {
        let mut direct = TcpStream::connect((self.ip, self.plain)).unwrap();
        direct.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        direct.write_all(b"GET /fence HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        direct.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("fence"), "{answer}");
    }
}

fn config(ip: IpAddr, plain: u16, tls: u16) -> String {
    format!(
        r#"
daemon off;
master_process off;
pid nginx.pid;
error_log error.log;
events {{ worker_connections 256; }}
http {{
  map "" $asked {{ default "$remote_addr $request_method $server_protocol $scheme $uri"; }}
  log_format asked '$asked -';
  log_format ordered '$http_x_asked';
  access_log access.log asked;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  default_type text/plain;
  server {{
    listen {ip}:{plain}; listen 127.0.0.1:{plain};
    listen {ip}:{tls} ssl http2; listen 127.0.0.1:{tls} ssl http2;
    ssl_certificate site.pem; ssl_certificate_key site.key;
    root .;
    location / {{ return 200 "page"; }}
    location = /big {{ }}
    location = /fence {{ access_log off; return 200 "fence"; }}
    # It must read the body to pass it on, and so knows it; the log is written before the answer is passed back.
    location = /order {{ access_log off; proxy_pass http://{ip}:{plain}/ordered; proxy_set_header X-Asked "$asked $request_body"; }}
    location = /ordered {{ access_log access.log ordered; return 200 "ordered"; }}
    location = /forbidden {{ return 403; }}
    location = /often {{ add_header Retry-After 7 always; return 429; }}
    location = /down {{ return 503; }}
    location = /close {{ return 444; }}
  }}
}}
"#
    )
}
