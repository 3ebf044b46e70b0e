//! Results as JSON Lines. A line is on its way to the disk or the pipe before the next page is counted, so that a stop loses
//! nothing.

use crate::BadInput;
use crate::args::Args;
use crate::page::Page;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::path::Path;

pub(crate) struct Record {
    out: Option<Box<dyn Write + Send>>,
    /// The file ends in the middle of a line: an earlier run was killed.
    torn: bool,
}

impl Record {
    /// Opens the output before anything is fetched. An existing file is kept and added to.
    pub(crate) fn open(args: &Args) -> Result<Self, BadInput> {
        let path = match (&args.output, args.is_lab()) {
            (Some(path), _) => path.as_path(),
            (None, false) => Path::new("-"),
            (None, true) => return Ok(Self { out: None, torn: false }),
        };
        if path == Path::new("-") {
            return Ok(Self { out: Some(Box::new(io::stdout())), torn: false });
        }
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(|error| {
            BadInput(format!(
                "{}: cannot be written: {error}; check the path and its permissions",
                path.display()
            ))
        })?;
        Ok(Self { out: Some(Box::new(file)), torn: ends_in_a_line(path).unwrap_or(false) })
    }

    /// Writes one page as one line.
    pub(crate) fn write(&mut self, page: &Page) -> io::Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        let mut line = if std::mem::take(&mut self.torn) { vec![b'\n'] } else { Vec::new() };
        serde_json::to_writer(&mut line, page)?;
        line.push(b'\n');
        out.write_all(&line)?;
        out.flush()
    }
}

/// Whether a file's last byte is no newline. Only a plain file is looked into: to open a pipe may wait for ever.
fn ends_in_a_line(path: &Path) -> io::Result<bool> {
    let known = fs::metadata(path)?;
    if !known.is_file() || known.len() == 0 {
        return Ok(false);
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}
