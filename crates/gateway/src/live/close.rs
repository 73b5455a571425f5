use super::limits::CLOSE_LIMIT;
use super::upgrade::Socket;
use futures::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

/// Why a connection is closed by the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Close {
    /// The process stops: connect again, to another one.
    Restart,
    /// The client does not take what is sent: connect again, the token says where to go on.
    TooSlow,
    /// The token is over: connect again with a new one.
    TokenExpired,
    /// No hello came in time.
    NoHello,
    /// The user has too many connections already.
    TooManyConnections,
    /// Nothing was heard of the client for too long.
    Silent,
    /// The client has sent a message that is too long.
    TooLarge,
}

impl Close {
    pub const ALL: [Self; 7] = [
        Self::Silent,
        Self::TooLarge,
        Self::Restart,
        Self::TooSlow,
        Self::TokenExpired,
        Self::NoHello,
        Self::TooManyConnections,
    ];

    pub const fn code(self) -> u16 {
        match self {
            // As RFC 6455 and its registry say: going away, message too big, service restart, try again later.
            Self::Silent => 1001,
            Self::TooLarge => 1009,
            Self::Restart => 1012,
            Self::TooSlow => 1013,
            Self::TokenExpired => 4001,
            Self::NoHello => 4002,
            Self::TooManyConnections => 4003,
        }
    }

    pub const fn words(self) -> &'static str {
        match self {
            Self::Silent => "nothing heard",
            Self::TooLarge => "too large",
            Self::Restart => "restart",
            Self::TooSlow => "too slow",
            Self::TokenExpired => "token expired",
            Self::NoHello => "no hello",
            Self::TooManyConnections => "too many connections",
        }
    }

    /// Says why, and waits for the client to take it: what is unread when a socket is closed destroys what is on its
    /// way.
    pub async fn tell(self, socket: &mut Socket) {
        let close = CloseFrame { code: self.code().into(), reason: self.words().into() };
        let farewell = async {
            if socket.send(Message::Close(Some(close))).await.is_ok() {
                while let Some(Ok(_)) = socket.next().await {}
            }
        };
        let _ = tokio::time::timeout(CLOSE_LIMIT, farewell).await;
    }
}
