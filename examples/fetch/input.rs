//! Files and URLs, checked before anything is sent.

use crate::BadInput;
use crate::args::Args;
use http::Uri;
use std::io::Read as _;
use std::path::Path;

/// The pages to fetch, by command line and file.
pub(crate) fn urls(args: &Args) -> Result<Vec<Uri>, BadInput> {
    let mut urls = Vec::new();
    for (number, text) in (1..).zip(&args.url) {
        urls.push(url(text).map_err(|what| BadInput(format!("URL {number}: {what}")))?);
    }
    if let Some(path) = &args.urls {
        let text = read(path)?;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim().trim_start_matches('\u{feff}');
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            urls.push(url(line).map_err(|what| BadInput(format!("{}:{number}: {what}", path.display())))?);
        }
    }
    if urls.is_empty() {
        return Err(BadInput("no URL to fetch; name some, or a file of them with --urls".into()));
    }
    Ok(urls)
}

/// A file as text; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<String, BadInput> {
    let at = |error: std::io::Error| BadInput(format!("{}: cannot be read: {error}", path.display()));
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(at)?;
        return Ok(text);
    }
    std::fs::read_to_string(path).map_err(at)
}

/// The message does not repeat the URL, which may hold a token.
fn url(text: &str) -> Result<Uri, String> {
    // A fragment is the reader's; it is never sent.
    let sent = text.split('#').next().unwrap_or(text);
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
