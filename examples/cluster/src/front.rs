//! The front: it distributes connections among the instances, as a Service of Kubernetes does, and
//! looks at their readiness.
//!
//! For browsers there is one origin. Instances end a connection after each response, so that the next
//! request of a page goes to the next instance.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU16, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};

use crate::{client, instance::READINESS};

/// How often each instance is asked whether it is ready.
const LOOK: Duration = Duration::from_millis(250);

/// How long an instance may take to accept a connection, and to say that it is ready.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Front {
    listener: TcpListener,
    address: SocketAddr,
    backends: Arc<Backends>,
}

/// The instances, as the front sees them.
#[derive(Debug)]
pub(crate) struct Backends {
    addresses: [SocketAddr; 3],
    /// The last response of each when it was asked whether it is ready; 0 if there was none.
    statuses: [AtomicU16; 3],
    next: AtomicUsize,
}

impl Front {
    /// Listens on this port, or on any free one if it is taken.
    pub(crate) async fn listen(port: u16, addresses: [SocketAddr; 3]) -> io::Result<Self> {
        let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?
            }
            listener => listener?,
        };
        let address = listener.local_addr()?;
        let (statuses, next) = (Default::default(), AtomicUsize::new(0));
        Ok(Self { listener, address, backends: Arc::new(Backends { addresses, statuses, next }) })
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn backends(&self) -> Arc<Backends> {
        Arc::clone(&self.backends)
    }

    /// Runs until an error of its own socket.
    pub(crate) async fn run(self) -> io::Result<()> {
        for (address, status) in (0..).zip(self.backends.addresses) {
            tokio::spawn(look(Arc::clone(&self.backends), address, status));
        }
        loop {
            let (client, _) = self.listener.accept().await?;
            let backends = Arc::clone(&self.backends);
            tokio::spawn(async move { backends.pass(client).await });
        }
    }
}

/// Asks one instance again and again whether it is ready.
async fn look(backends: Arc<Backends>, number: usize, address: SocketAddr) {
    loop {
        let status = timeout(PATIENCE, client::get(address, READINESS)).await.ok().flatten();
        if let Some(known) = backends.statuses.get(number) {
            known.store(status.unwrap_or(0), Ordering::Relaxed);
        }
        sleep(LOOK).await;
    }
}

impl Backends {
    /// The readiness of each instance: 200 if it is ready, 503 if it is not, 0 if it says nothing.
    pub(crate) fn statuses(&self) -> [u16; 3] {
        self.statuses.each_ref().map(|status| status.load(Ordering::Relaxed))
    }

    /// Connects a client to the next instance that is ready. If none is, to any that responds, which
    /// can report the cause.
    async fn pass(&self, mut client: TcpStream) {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        let known = self.addresses.into_iter().zip(self.statuses());
        let (mut ready, mut others): (Vec<_>, Vec<_>) =
            known.partition(|(_, status)| *status == 200);
        if !ready.is_empty() {
            let count = ready.len();
            ready.rotate_left(turn % count);
        }
        others.sort_by_key(|(_, status)| *status == 0);
        for (address, _) in ready.into_iter().chain(others) {
            if let Ok(Ok(mut instance)) = timeout(PATIENCE, TcpStream::connect(address)).await {
                // Either side may end it at any moment.
                let _ended = copy_bidirectional(&mut client, &mut instance).await;
                return;
            }
        }
    }
}
