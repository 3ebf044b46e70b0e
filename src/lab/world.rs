//! What the world on loopback and the one in memory share: the exits, the gateways and the sites.

use super::network::Network;
use super::{LabExit, LabGateway, Origin};
use crate::exit::ExitList;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

#[derive(Default)]
pub(super) struct World {
    pub(super) exits: Vec<LabExit>,
    pub(super) gateways: Vec<LabGateway>,
    pub(super) network: Arc<Network>,
}

impl World {
    pub(super) fn exit_list(&self) -> ExitList {
        self.exits.iter().map(|exit| exit.exit().clone()).collect()
    }

    pub(super) fn exit_at(&self, source: IpAddr) -> Option<&LabExit> {
        self.exits.iter().find(|exit| exit.source() == source)
    }

    pub(super) fn gateway_at(&self, source: IpAddr) -> Option<&LabGateway> {
        self.gateways.iter().find(|gateway| gateway.owns(source))
    }

    pub(super) fn origin(&self) -> &Origin {
        self.network.origins().next().expect("a lab is built with at least one site")
    }

    pub(super) fn url(&self, scheme: &str, path: &str) -> String {
        let slash = if path.starts_with('/') { "" } else { "/" };
        format!("{scheme}://{}{slash}{path}", self.origin().host())
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origins: Vec<_> = self.network.origins().collect();
        f.debug_struct("World")
            .field("exits", &self.exits.len())
            .field("gateways", &self.gateways)
            .field("origins", &origins)
            .finish()
    }
}
