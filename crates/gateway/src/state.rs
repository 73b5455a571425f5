use crate::messages::Messages;
use crate::order::UserOrders;
use crate::settings::GatewaySettings;
use crate::standing::LastStandings;
use readmark_http::Sure;
use readmark_runtime::ports::{Ports, Rules};
use std::sync::Arc;

/// The gateway role.
pub struct Gateway {
    pub(crate) ports: Ports,
    pub(crate) rules: Rules,
    pub(crate) sure: Sure,
    pub(crate) orders: UserOrders,
    pub(crate) messages: Messages,
    pub(crate) last_standings: LastStandings,
}

impl Gateway {
    /// On these parts.
    #[must_use]
    pub fn new(ports: Ports, rules: Rules, settings: &GatewaySettings) -> Arc<Self> {
        Arc::new(Self {
            sure: Sure::new(&ports, &rules),
            orders: UserOrders::default(),
            messages: Messages::new(settings.message_cache_entries),
            last_standings: LastStandings::default(),
            ports,
            rules,
        })
    }
}
