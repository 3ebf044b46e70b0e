//! How many refusals of a login in a row are no strays, by how many of them there were lately.

/// Attempts that count in full; then all count half.
const MOST: u32 = 10_000;
/// What is thought of a login of which nothing is known: of a hundred attempts ten were strays. So many, and no more, are seen in
/// the field.
const FIRST: (u32, u32) = (10, 100);

/// What a login that is right was accepted and refused.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Strays {
    accepted: u32,
    refused: u32,
}

impl Strays {
    #[inline]
    pub(super) const fn accept(&mut self) {
        self.accepted += 1;
        if self.accepted >= MOST {
            (self.accepted, self.refused) = (self.accepted / 2, self.refused / 2);
        }
    }

    /// So many were refused that were right.
    pub(super) fn refuse(&mut self, strays: usize) {
        self.refused = self.refused.saturating_add(u32::try_from(strays).unwrap_or(u32::MAX)).min(MOST);
    }

    /// The fewest in a row that strays alone come to no oftener than that; two at least.
    pub(super) fn in_a_row(&self, chance: f64) -> u64 {
        let (refused, all) = (self.refused + FIRST.0, self.accepted + self.refused + FIRST.1);
        let share = (f64::from(refused) / f64::from(all)).min(f64::from(FIRST.0) / f64::from(FIRST.1));
        let fits = |many: &u64| (0..*many).fold(1.0, |chance, _| chance * share) <= chance * 1.000_001;
        (2..u64::from(FIRST.1)).find(fits).unwrap_or(2)
    }
}

#[test]
fn the_fewer_strays_there_were_the_fewer_refusals_are_none() {
    let in_a_row = |accepted, refused| {
        let mut strays = Strays::default();
        (0..accepted).for_each(|_| strays.accept());
        strays.refuse(refused);
        (strays.in_a_row(1e-5), strays.in_a_row(1e-8))
    };
    assert_eq!(in_a_row(0, 0), (5, 8), "one in ten is the worst that is known");
    assert_eq!(in_a_row(9_000, 1_000), (5, 8));
    assert_eq!(in_a_row(9_500, 500), (4, 7));
    assert_eq!(in_a_row(1_000, 0), (3, 4));
    assert_eq!(in_a_row(9_900, 0), (2, 3));
    assert_eq!(in_a_row(10, 10_000), (5, 8), "more than that is no stray");
}
