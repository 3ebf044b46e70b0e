//! Whether the exits that are blocked are neighbours.
//!
//! Tarone's Z over subnets, with exits for trials: of the n of a subnet that were used, x were blocked. So a bad exit counts
//! once, however often it was asked, and bad exits that lie anywhere give no more than chance: what is left is that some
//! subnets have more of them.

use super::tarone::z_of;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// With fewer subnets of two exits that were used, or a smaller share of blocked exits, nothing is said.
const SUBNETS: usize = 5;
const SHARE: f64 = 0.10;
/// One in a thousand by chance.
const CONCENTRATED: f64 = 3.09;
/// A subnet is named if as many of its exits are blocked, and two of three.
const BLOCKED: u32 = 3;
/// How many are named.
const WORST: usize = 3;

/// The neighbourhood of an address that sites ban as one: the /24 of IPv4, the /48 of IPv6.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Subnet(IpAddr);

impl Subnet {
    /// The one that the address lies in.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(v4) => IpAddr::V4((v4.to_bits() & !0xff).into()),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 80 << 80)),
        })
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0, if self.0.is_ipv4() { 24 } else { 48 })
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Subnet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A subnet's part in the blocks of an origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SubnetBlocks {
    /// The subnet.
    pub subnet: Subnet,
    /// Its exits that were used.
    pub exits: u32,
    /// Those that were blocked.
    pub blocked: u32,
}

/// The subnets that are refused, the worst first; empty if blocks do not follow them. Of each exit: where it lies, and whether
/// it was blocked.
pub(super) fn refused(exits: impl Iterator<Item = (Subnet, bool)>) -> Vec<SubnetBlocks> {
    let mut counts = BTreeMap::<Subnet, (u32, u32)>::new();
    for (subnet, blocked) in exits {
        let (exits, bad) = counts.entry(subnet).or_default();
        *exits += 1;
        *bad += u32::from(blocked);
    }
    let (n, x) = counts.values().fold((0, 0), |(n, x), (exits, bad)| (n + exits, x + bad));
    let share = f64::from(x) / f64::from(n.max(1));
    let several = counts.values().filter(|(exits, _)| *exits >= 2).count();
    let pairs = || counts.values().map(|(exits, bad)| (u64::from(*exits), u64::from(*bad)));
    if several < SUBNETS || share < SHARE || z_of(pairs()) <= CONCENTRATED {
        return Vec::new();
    }
    let above = |net: &SubnetBlocks| f64::from(net.blocked) - share * f64::from(net.exits);
    let of = |(subnet, (exits, blocked))| SubnetBlocks { subnet, exits, blocked };
    let refused = |net: &SubnetBlocks| net.blocked >= BLOCKED && net.blocked * 3 >= net.exits * 2;
    let mut worst: Vec<_> = counts.into_iter().map(of).filter(refused).collect();
    worst.sort_by(|a, b| above(b).total_cmp(&above(a)).then_with(|| a.subnet.cmp(&b.subnet)));
    worst.truncate(WORST);
    worst
}
