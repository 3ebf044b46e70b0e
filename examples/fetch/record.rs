//! Results as JSON Lines. A line is on its way to the disk before the next page is counted, so that a stop loses nothing.

use crate::BadInput;
use crate::args::Args;
use crate::page::Page;
use std::fs::OpenOptions;
use std::io::{self, LineWriter, Write};
use std::path::Path;

pub(crate) struct Record(Option<Box<dyn Write + Send>>);

impl Record {
    /// Opens the output before anything is fetched. An existing file is kept and added to.
    pub(crate) fn open(args: &Args) -> Result<Self, BadInput> {
        let path = match (&args.output, &args.proxies) {
            (Some(path), _) => path.as_path(),
            (None, Some(_)) => Path::new("-"),
            (None, None) => return Ok(Self(None)),
        };
        if path == Path::new("-") {
            return Ok(Self(Some(Box::new(LineWriter::new(io::stdout())))));
        }
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(|error| {
            BadInput(format!(
                "{}: cannot be written: {error}; check the path and its permissions",
                path.display()
            ))
        })?;
        Ok(Self(Some(Box::new(LineWriter::new(file)))))
    }

    /// Writes one page as one line.
    pub(crate) fn write(&mut self, page: &Page) -> io::Result<()> {
        let Some(out) = &mut self.0 else { return Ok(()) };
        let mut line = serde_json::to_vec(page)?;
        line.push(b'\n');
        out.write_all(&line)
    }
}
