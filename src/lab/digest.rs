//! What is kept of a request's body.

use bytes::Bytes;
use http_body::Body;
use sha1::{Digest, Sha1};
use std::future::poll_fn;

pub(super) struct BodyDigest {
    pub(super) len: u64,
    pub(super) sha1: [u8; 20],
}

impl BodyDigest {
    /// Reads a body to its end, holding one chunk at a time; `Err` has what came before it broke.
    pub(super) async fn read<B>(body: B) -> Result<Self, (Self, B::Error)>
    where
        B: Body<Data = Bytes>,
    {
        let mut body = Box::pin(body);
        let mut len = 0;
        let mut sha = Sha1::new();
        while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            match frame {
                Ok(frame) => {
                    if let Some(data) = frame.data_ref() {
                        len += data.len() as u64;
                        sha.update(data);
                    }
                }
                Err(error) => return Err((Self { len, sha1: sha.finalize().into() }, error)),
            }
        }
        Ok(Self { len, sha1: sha.finalize().into() })
    }
}
