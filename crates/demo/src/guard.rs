//! What belongs to the demo.

use readmark_domain::id::Uid;
use serde_json::Value;

/// Demo users are numbered from here, where no IM numbers its users.
pub const FIRST_UID: u64 = 9_200_000_000_000_000_000;

/// Demo conversations begin with this.
pub const CONVERSATION_PREFIX: &str = "demo-";

/// Fields that name a user, or several.
const UID_FIELDS: [&str; 3] = ["uid", "sender_uid", "mentions"];

pub(crate) fn is_demo_user(uid: Uid) -> bool {
    uid.get() >= FIRST_UID
}

/// Says what of an event is not the demo's. What is malformed otherwise, the application says.
pub(crate) fn foreign(event: &Value) -> Option<String> {
    let fields = event.as_object()?;
    if let Some(id) = fields.get("conversation_id")
        && !id.as_str().is_some_and(|id| id.starts_with(CONVERSATION_PREFIX))
    {
        return Some(format!("conversation_id must begin with {CONVERSATION_PREFIX}"));
    }
    let acked = fields.get("messages").and_then(Value::as_array).into_iter().flatten();
    let named = UID_FIELDS.iter().filter_map(|name| fields.get(*name));
    let named = named.chain(acked.filter_map(|message| message.get("sender_uid")));
    for uid in named.flat_map(|value| value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)) {
        if !serde_json::from_value::<Uid>(uid.clone()).is_ok_and(is_demo_user) {
            return Some(format!("users of the demo are numbered from {FIRST_UID}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_demo_users_in_demo_conversations() {
        let (ours, real) = (FIRST_UID.to_string(), "7");
        let sent = |id: &str, uid: &str, mention: &str| json!({"type": "message_sent", "conversation_id": id, "sender_uid": uid, "mentions": [mention]});
        assert_eq!(foreign(&sent("demo-1", &ours, &ours)), None);
        assert!(foreign(&sent("lunch", &ours, &ours)).is_some());
        assert!(foreign(&sent("demo-1", real, &ours)).is_some());
        assert!(foreign(&sent("demo-1", &ours, real)).is_some());
        assert!(foreign(&json!({"type": "user_settings", "uid": real})).is_some());
        let acked = json!({"type": "acked", "conversation_id": "demo-1", "uid": ours, "messages": [{"sender_uid": real}]});
        assert!(foreign(&acked).is_some());
        assert!(foreign(&json!({"conversation_id": 7})).is_some());
    }
}
