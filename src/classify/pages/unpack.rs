//! The start of a packed page, for the search alone: the caller gets the bytes as they came.

use super::MAX_BYTES;
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use std::borrow::Cow;
use std::io::Read;

/// At most [`MAX_BYTES`] of what is packed, whatever they unpack to, and whether that is all. Broken off it is what there is.
/// `None` for a packing that is not known here.
pub(in crate::classify) fn unpack<'a>(
    headers: &HeaderMap,
    packed: Cow<'a, [u8]>,
) -> Option<(Cow<'a, [u8]>, bool)> {
    let mut names = headers.get_all(CONTENT_ENCODING).iter();
    let (name, more) = (names.next(), names.next());
    let name = name.map_or(&b"identity"[..], |name| name.as_bytes().trim_ascii()).to_ascii_lowercase();
    if more.is_some() {
        return None;
    }
    match &name[..] {
        b"" | b"identity" => Some((packed, true)),
        b"gzip" | b"x-gzip" => Some(start_of(GzDecoder::new(&packed[..]))),
        // By the standard it is zlib's form; some send the bare stream.
        b"deflate" if is_zlib(&packed) => Some(start_of(ZlibDecoder::new(&packed[..]))),
        b"deflate" => Some(start_of(DeflateDecoder::new(&packed[..]))),
        _ => None,
    }
}

const fn is_zlib(packed: &[u8]) -> bool {
    matches!(packed, [method, flags, ..] if *method & 0xf == 8 && (*method as u16 * 256 + *flags as u16) % 31 == 0)
}

fn start_of(mut unpacker: impl Read) -> (Cow<'static, [u8]>, bool) {
    let mut text = vec![0; MAX_BYTES];
    let mut len = 0;
    let mut ended = false;
    while len < MAX_BYTES {
        match unpacker.read(&mut text[len..]) {
            Ok(0) => {
                ended = true;
                break;
            }
            Ok(more) => len += more,
            Err(_) => break,
        }
    }
    text.truncate(len);
    (text.into(), ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use http::HeaderValue;

    fn named(name: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_ENCODING, HeaderValue::from_static(name))])
    }

    fn all(mut packer: impl Read) -> Vec<u8> {
        let mut packed = Vec::new();
        packer.read_to_end(&mut packed).unwrap();
        packed
    }

    #[test]
    fn what_browsers_offer_is_unpacked_up_to_the_cap_and_its_end_is_known() {
        for (len, whole) in
            [(0, true), (9, true), (MAX_BYTES - 1, true), (MAX_BYTES + 1, false), (4 << 20, false)]
        {
            let text = b"abcdefg".repeat(len / 7 + 1)[..len].to_vec();
            let level = Compression::default();
            for (name, packed) in [
                ("identity", text.clone()),
                ("gzip", all(GzEncoder::new(&text[..], level))),
                ("X-GZIP", all(GzEncoder::new(&text[..], level))),
                ("deflate", all(ZlibEncoder::new(&text[..], level))),
                ("deflate", all(DeflateEncoder::new(&text[..], level))),
            ] {
                let (got, ended) = unpack(&named(name), packed.clone().into()).unwrap();
                if name == "identity" {
                    assert!(got == text && ended);
                    continue;
                }
                assert!(got[..] == text[..len.min(MAX_BYTES)] && ended == whole, "{name}: {len}");
                let cut = &packed[..packed.len() / 2];
                let (got, ended) = unpack(&named(name), cut.into()).unwrap();
                assert!(text.starts_with(&got) && (!ended || packed.len() < 4), "{name}: {len}");
            }
        }
    }

    #[test]
    fn what_is_not_known_is_not_unpacked_and_garbage_is_nothing() {
        for name in ["br", "zstd", "gzip, br", "compress", "?"] {
            assert!(unpack(&named(name), b"x"[..].into()).is_none(), "{name}");
        }
        let (got, ended) = unpack(&named("gzip"), b"no gzip at all"[..].into()).unwrap();
        assert!(got.is_empty() && !ended);
    }
}
