//! Files and URLs, checked before anything is sent.

use crate::BadInput;
use crate::args::Args;
use http::Uri;
use std::io::Read as _;
use std::path::Path;
use tower_egress::ExitList;

/// The pages to fetch, by command line and file.
pub(crate) fn urls(args: &Args) -> Result<Vec<Uri>, BadInput> {
    let mut urls = Vec::new();
    for (number, text) in (1..).zip(&args.url) {
        let cure = |what| match Path::new(text).is_file() {
            true => "is a file; a file of URLs is read with --urls FILE".into(),
            false => what,
        };
        urls.push(url(text).map_err(|what| BadInput(format!("URL {number}: {}", cure(what))))?);
    }
    if let Some(path) = &args.urls {
        let text = read(path)?;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim().trim_start_matches('\u{feff}');
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            urls.push(url(line).map_err(|what| BadInput(format!("{}:{number}: {what}", name(path))))?);
        }
    }
    if urls.is_empty() {
        return Err(BadInput("no URL to fetch; name some, or a file of them with --urls".into()));
    }
    Ok(urls)
}

/// The exits of a file, `-` for standard input. What of it is left out is told.
pub(crate) fn exits(path: &Path) -> Result<ExitList, BadInput> {
    let stdin = path == Path::new("-");
    let list = if stdin { ExitList::from_reader(std::io::stdin()) } else { ExitList::from_path(path) };
    let place = if stdin { "standard input: " } else { "" };
    let list = list.map_err(|error| BadInput(format!("{place}{error}")))?;
    for error in list.skipped() {
        eprintln!("fetch: left out: {place}{error}");
    }
    let more = list.skipped_total() - list.skipped().len();
    if more > 0 {
        eprintln!("fetch: left out: {more} more lines");
    }
    if let Some(first) = list.repeated().first() {
        eprintln!("fetch: counted once: {place}{first}; lines of this kind: {}", list.repeated_total());
    }
    Ok(list)
}

/// A file as text; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<String, BadInput> {
    let name = name(path);
    let mut bytes = Vec::new();
    let got = match path == Path::new("-") {
        true => std::io::stdin().read_to_end(&mut bytes),
        false => std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    got.map_err(|error| BadInput(format!("{name}: cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
        BadInput(format!("{name}:{line}: is not UTF-8; save the file as UTF-8"))
    })
}

fn name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".into() } else { path.display().to_string() }
}

/// The message does not repeat the URL, which may hold a token.
fn url(text: &str) -> Result<Uri, String> {
    // A fragment is the reader's; it is never sent.
    let sent = text.split('#').next().unwrap_or(text);
    let lower = sent.to_ascii_lowercase();
    let after = lower.strip_prefix("http://").or_else(|| lower.strip_prefix("https://"));
    if after.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', ':'])) {
        return Err("names no host; write http://host/path".into());
    }
    let uri: Uri = sent.parse().map_err(|error| format!("not a URL: {error}; write http://host/path"))?;
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some(host)) if !host.is_empty() => {}
        _ => return Err("not an absolute http or https URL; write http://host/path".into()),
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err("has a login in it; a login belongs into a header".into());
    }
    Ok(uri)
}
