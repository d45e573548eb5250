//! Sessions for tests of a store itself.

use std::{env, sync::Arc, time::Duration};

use policy_core::{
    session::{Handle, Identity, Record, SessionKey},
    time::Timestamp,
};
use policy_server::store::{
    Cas, CreateFamily, CreateSession, Family, Refresh, RefreshOutcome, RevokeUser, SessionCreated,
    SessionStore, Ticket, TokenHash, TokenStore, UpdateSession,
};

pub(crate) const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

pub(crate) fn key(number: u64) -> SessionKey {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&number.to_be_bytes());
    SessionKey(key)
}

pub(crate) fn record(number: u64, user: Option<&str>) -> Record {
    Record {
        handle: Handle(u128::from(number).to_be_bytes()),
        identity: user.map(Identity::new),
        epoch: 0,
        version: 0,
        created: NOW.after(Duration::from_millis(number)),
        authenticated: None,
        rotated: NOW,
        last_seen: NOW,
        idle_deadline: Timestamp::MAX,
        absolute_deadline: Timestamp::MAX,
        idle: Duration::from_secs(900),
        is_remembered: false,
        binding: [0; 32],
        data: Box::default(),
    }
}

/// Creates a session under the key with this number.
pub(crate) async fn create(store: &impl SessionStore, number: u64, record: Record) {
    let request = CreateSession::new(key(number), record, NOW);
    assert_eq!(store.create(request).await.unwrap(), SessionCreated::Done { evicted: vec![] });
}

/// A session, a family and a ticket of a user without a tenant.
pub(crate) async fn write_without_tenant(store: &(impl SessionStore + TokenStore)) {
    SessionStore::open(store).await.unwrap();
    create(store, 1, record(1, Some("ada"))).await;
    let family = CreateFamily::new(family_without_tenant(), TokenHash([1; 32]), 0);
    assert!(store.create_family(family).await.unwrap());
    store.put_ticket(TokenHash([2; 32]), ticket_without_tenant()).await.unwrap();
}

/// A release without tenants wrote them. The user gets a tenant, which a session without one does not keep.
pub(crate) async fn read_without_tenant(store: &(impl SessionStore + TokenStore)) {
    SessionStore::open(store).await.unwrap();
    let identity = async || {
        let loaded = store.load(&key(1), NOW).await.unwrap().unwrap();
        loaded.record.identity.clone().unwrap()
    };
    assert_eq!(identity().await, Identity::new("ada"));
    let refresh = Refresh::new(TokenHash([1; 32]), TokenHash([3; 32]), Duration::ZERO, NOW, NOW);
    assert_eq!(
        store.refresh(refresh).await.unwrap(),
        RefreshOutcome::Done(family_without_tenant())
    );
    let ticket = store.take_ticket(TokenHash([2; 32]), NOW).await.unwrap();
    assert_eq!(ticket, Some(ticket_without_tenant()));
    for rights in [Identity::new("ada").tenant("acme"), Identity::new("ada")] {
        store.revoke_user(RevokeUser::new("ada", NOW).rights(&rights)).await.unwrap();
        assert_eq!(identity().await, rights);
    }
}

fn family_without_tenant() -> Family {
    Family::new([1; 16], Identity::new("ada").roles(["admin"]), NOW, Timestamp::MAX)
}

fn ticket_without_tenant() -> Ticket {
    Ticket::new(Identity::new("ada").scopes(["read"]), NOW.after(Ticket::LIFETIME))
}

/// Each session is changed at one instance while it is deleted at the other. `POLICY_STORES_RACES`
/// says how many.
pub(crate) async fn races<S: SessionStore>(stores: [S; 2]) {
    const AT_ONCE: u64 = 20;
    let [one, two] = stores.map(Arc::new);
    one.open().await.unwrap();
    two.open().await.unwrap();
    let sessions = env::var("POLICY_STORES_RACES").map_or(1000, |text| text.parse().unwrap());
    let mut changed_first = 0;
    for begin in (0..sessions).step_by(AT_ONCE as usize) {
        let mut races = tokio::task::JoinSet::new();
        for number in begin..begin + AT_ONCE {
            let (one, two) = (Arc::clone(&one), Arc::clone(&two));
            races.spawn(async move { race(&*one, &*two, number).await.unwrap_or_default() });
        }
        changed_first += races.join_all().await.into_iter().map(u64::from).sum::<u64>();
    }
    assert!((1..sessions).contains(&changed_first), "both orders: {changed_first} of {sessions}");
}

/// Whether the change came first, unless the store was too slow to say so.
async fn race(one: &impl SessionStore, two: &impl SessionStore, number: u64) -> Option<bool> {
    let key = key(number);
    let create = CreateSession::new(key, record(number, Some("ada")), NOW);
    assert_eq!(one.create(create).await.ok()?, SessionCreated::Done { evicted: vec![] });
    let update = UpdateSession::new(key, 1, Box::from(*b"{}"), NOW);
    let (updated, deleted) = tokio::join!(one.update(update), two.delete(&key));
    assert!(deleted.ok()?);
    assert!(one.load(&key, NOW).await.ok()?.is_none(), "session {number}");
    assert!(two.load(&key, NOW).await.ok()?.is_none(), "session {number}");
    match updated.ok()? {
        Cas::Done { version: 2, .. } => Some(true),
        Cas::Gone => Some(false),
        other => panic!("{other:?}"),
    }
}

/// Instances that move one session at the same moment have both created it for a moment.
pub(crate) async fn one_handle_ends_all<S: SessionStore>(store: &S) {
    let handle = record(1, None).handle;
    for number in [1, 2] {
        create(store, number, record(1, Some("ada"))).await;
    }
    assert!(store.delete(&key(2)).await.unwrap());
    assert!(store.identity("ada", handle, NOW).await.unwrap().is_some());
    create(store, 3, record(1, Some("ada"))).await;
    assert!(!store.delete_by_handle("bob", handle).await.unwrap());
    assert!(store.delete_by_handle("ada", handle).await.unwrap());
    for number in [1, 3] {
        assert!(store.load(&key(number), NOW).await.unwrap().is_none());
    }
    assert!(!store.delete_by_handle("ada", handle).await.unwrap());
}
