use crate::port::Group;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The instance ids of this process's members. A second member of the same group needs another one; one that joins
/// after another has gone takes that one's over, and its partitions with it.
#[derive(Debug, Clone, Default)]
pub(super) struct Instances {
    taken: Arc<Mutex<BTreeMap<Group, BTreeSet<u32>>>>,
}

impl Instances {
    pub(super) fn lease(&self, group: &Group, instance_id: &str) -> Lease {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = taken.entry(group.clone()).or_default();
        let number = (0..).find(|number| !numbers.contains(number)).unwrap_or(u32::MAX);
        numbers.insert(number);
        let instance_id =
            if number == 0 { instance_id.to_owned() } else { format!("{instance_id}-{number}") };
        Lease { instances: self.clone(), group: group.clone(), number, instance_id }
    }
}

/// An instance id in use.
#[derive(Debug)]
pub(super) struct Lease {
    instances: Instances,
    group: Group,
    number: u32,
    instance_id: String,
}

impl Lease {
    pub(super) fn instance_id(&self) -> &str {
        &self.instance_id
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut taken = self.instances.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(numbers) = taken.get_mut(&self.group) {
            numbers.remove(&self.number);
        }
    }
}
