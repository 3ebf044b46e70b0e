//! `[client]` and `proxy_tls`: timeouts, idle connections, and whom to trust.

use super::reader::Reader;
use crate::error::ConfigError;

#[cfg(feature = "client")]
pub(super) use with_client::{ClientTable, TlsTable, client, proxy_tls};

/// Without the client there is nothing to set.
#[cfg(not(feature = "client"))]
pub(super) type ClientTable = serde::de::IgnoredAny;
#[cfg(not(feature = "client"))]
pub(super) type TlsTable = serde::de::IgnoredAny;
#[cfg(not(feature = "client"))]
pub(super) struct NoTls;

#[cfg(not(feature = "client"))]
pub(super) fn proxy_tls(
    reader: &Reader<'_>,
    path: &str,
    table: Option<&TlsTable>,
) -> Result<NoTls, ConfigError> {
    match table {
        Some(_) => Err(without_client(reader, path)),
        None => Ok(NoTls),
    }
}

#[cfg(not(feature = "client"))]
pub(super) fn client(reader: &Reader<'_>, table: Option<&ClientTable>) -> Result<(), ConfigError> {
    match table {
        Some(_) => Err(without_client(reader, "client")),
        None => Ok(()),
    }
}

#[cfg(not(feature = "client"))]
fn without_client(reader: &Reader<'_>, path: &str) -> ConfigError {
    reader.wrong(
        path,
        "needs the feature `client`, which this program was built without",
        "leave it out, or build with it",
    )
}

#[cfg(feature = "client")]
mod with_client {
    use super::{ConfigError, Reader};
    use crate::client::{ExitClient, ExitClientBuilder};
    use crate::config::places::child;
    use crate::config::request::set;
    use crate::config::value::Span;
    use crate::exit::ProxyTls;
    use serde::Deserialize;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, expecting = "a table")]
    pub(in crate::config) struct ClientTable {
        connect_timeout: Option<Span>,
        tunnel_timeout: Option<Span>,
        tls_timeout: Option<Span>,
        establish_timeout: Option<Span>,
        idle_timeout: Option<Span>,
        max_idle: Option<usize>,
        tunnel_http: Option<bool>,
        http2: Option<bool>,
        roots: Option<String>,
        proxy_tls: Option<TlsTable>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, expecting = "a table")]
    pub(in crate::config) struct TlsTable {
        roots: Option<String>,
        identity: Option<IdentityTable>,
        server_name: Option<String>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, expecting = "a table")]
    struct IdentityTable {
        chain: String,
        key: String,
    }

    /// TLS to the proxies of a table.
    pub(in crate::config) fn proxy_tls(
        reader: &Reader<'_>,
        path: &str,
        table: Option<&TlsTable>,
    ) -> Result<Option<ProxyTls>, ConfigError> {
        let Some(table) = table else { return Ok(None) };
        let mut tls = ProxyTls::builder();
        if let Some(roots) = &table.roots {
            tls = tls.roots_pem(&reader.bytes(&child(path, "roots"), roots)?);
        }
        if let Some(IdentityTable { chain, key }) = &table.identity {
            let path = child(path, "identity");
            let chain = reader.bytes(&child(&path, "chain"), chain)?;
            tls = tls.identity_pem(&chain, &reader.bytes(&child(&path, "key"), key)?);
        }
        if let Some(name) = &table.server_name {
            tls = tls.server_name(name);
        }
        tls.build().map(Some).map_err(|error| reader.placed_in(path, error))
    }

    /// The client's settings.
    pub(in crate::config) fn client(
        reader: &Reader<'_>,
        table: Option<&ClientTable>,
    ) -> Result<ExitClientBuilder, ConfigError> {
        let client = ExitClient::builder();
        let Some(table) = table else { return Ok(client) };
        let span = |span: Option<Span>| span.map(|Span(span)| span);
        let client = set(client, span(table.connect_timeout), ExitClientBuilder::connect_timeout);
        let client = set(client, span(table.tunnel_timeout), ExitClientBuilder::tunnel_timeout);
        let client = set(client, span(table.tls_timeout), ExitClientBuilder::tls_timeout);
        let client = set(client, span(table.establish_timeout), ExitClientBuilder::establish_timeout);
        let client = set(client, span(table.idle_timeout), ExitClientBuilder::idle_timeout);
        let client = set(client, table.max_idle, ExitClientBuilder::max_idle);
        let client = set(client, table.tunnel_http, ExitClientBuilder::tunnel_http);
        let client = set(client, table.http2, ExitClientBuilder::http2);
        let tls = proxy_tls(reader, "client.proxy_tls", table.proxy_tls.as_ref())?;
        let client = set(client, tls.as_ref(), ExitClientBuilder::proxy_tls);
        let roots = table.roots.as_ref().map(|roots| reader.bytes("client.roots", roots)).transpose()?;
        let client = set(client, roots.as_deref(), ExitClientBuilder::roots_pem);
        client.check().map_err(|error| reader.placed_in("client", error))?;
        Ok(client)
    }
}
