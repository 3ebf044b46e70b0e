//! The trait that turns a wrong order of layers into a compile error.

use super::{BoxError, Error, LeaseError};

/// An error type that can carry a refusal up to the caller: [`Error`], and the boxed error of tower's own layers.
///
/// A client's own error is not one, so a lease or retry layer without a [`ClassifyLayer`](crate::ClassifyLayer) inside does
/// not compile.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot carry an egress refusal: there is no ClassifyLayer inside this layer",
    note = "the order is ExitAwareRetryLayer -> LeaseLayer -> ClassifyLayer -> client"
)]
pub trait CarriesRefusal: From<Error> {
    /// The egress error in here, if this is one.
    fn egress(&mut self) -> Option<&mut Error>;

    /// A refusal as this error.
    #[must_use]
    fn from_refusal(refusal: LeaseError) -> Self {
        Error::refused(refusal).into()
    }
}

impl CarriesRefusal for Error {
    fn egress(&mut self) -> Option<&mut Error> {
        Some(self)
    }
}

impl CarriesRefusal for BoxError {
    fn egress(&mut self) -> Option<&mut Error> {
        self.downcast_mut()
    }
}
