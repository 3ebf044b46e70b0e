//! What is printed holds no login.

use crate::clients::KINDS;
use crate::world::{World, request};
use http::Method;
use tower::ServiceExt as _;
use tower_egress::exit::Credential;
use tower_egress::lab::{Behaviour, Lab};
use tower_egress::retry::ReplayBody;

#[tokio::test]
async fn no_login_shows_in_what_is_printed() {
    let login = Credential::new("the-user", "the-password").unwrap();
    for kind in KINDS {
        let world = World::start(kind, Lab::builder().exits(1, Behaviour::fine().login(login.clone()))).await;
        let other = Credential::new("another-user", "another-password").unwrap();
        let mut printed = vec![format!("{:?}", world.clients)];
        for behaviour in [Behaviour::fine().login(other), Behaviour::dead()] {
            world.lab.exit(0).behave(behaviour).unwrap();
            for url in [world.lab.url("/p"), world.lab.tls_url("/p")] {
                let route = world.lab.exit(0).exit().route().clone();
                let mut asked = request(Method::GET, &url).map(|body| ReplayBody::new(body, 0));
                asked.extensions_mut().insert(route);
                let sent = world.clients.clone().oneshot(asked);
                printed.push(format!("{sent:?}"));
                if let Err(error) = sent.await {
                    printed.push(format!("{error:?} {error}"));
                }
            }
        }
        printed.push(format!("{:?}", world.clients));
        assert_eq!(printed.len(), 9, "a refused tunnel, and a dead exit twice: {printed:?}");
        for text in printed {
            let told =
                ["the-user", "the-password", "dGhlLXVzZXI"].into_iter().find(|word| text.contains(word));
            assert_eq!(told, None, "{kind:?} prints {text}");
        }
    }
}
