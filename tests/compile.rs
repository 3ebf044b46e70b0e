//! Orders of layers that cannot work do not compile, and the compiler's message names the right one. `TRYBUILD=overwrite`
//! writes the messages anew where a compiler words them otherwise.

#[test]
fn a_wrong_order_does_not_compile_and_the_message_names_the_right_one() {
    trybuild::TestCases::new().compile_fail("tests/compile/*.rs");
}
