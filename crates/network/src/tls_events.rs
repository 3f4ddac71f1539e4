//! The events of connections whose TLS is ended, on their way to the log.

use msb_tls_edge::{EdgeEvent, Events};

use crate::recorder::Recorder;
use crate::tls_record::NetworkTls;

/// The recorder of the events of one flow.
#[derive(Debug)]
pub(crate) struct TlsEvents {
    recorder: Recorder,
    flow: u64,
}

impl TlsEvents {
    pub(crate) const fn new(recorder: Recorder, flow: u64) -> Self {
        Self { recorder, flow }
    }
}

impl Events for TlsEvents {
    fn event(&self, event: EdgeEvent) {
        let flow = self.flow;
        self.recorder.add_tls(NetworkTls { flow, event });
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _};

    use super::*;
    use crate::log_detail::NetworkLogDetail;
    use crate::log_record::{NetworkEvent, NetworkReport};
    use crate::tls_record::is_alarm;

    fn hello(sni: String) -> EdgeEvent {
        EdgeEvent::Hello { sni, ended: true }
    }

    fn reflected() -> EdgeEvent {
        EdgeEvent::SecretReflected {
            secret: "KEY".parse().unwrap(),
            host: "api.test".to_owned(),
            path: "/".to_owned(),
        }
    }

    /// Returns what is reported of events: hellos, alarms, and the number of lost ones.
    fn reported(all: impl IntoIterator<Item = EdgeEvent>) -> (u64, u64, u64) {
        let mut file = tempfile::tempfile().unwrap();
        let recorder = Recorder::new(file.try_clone().unwrap(), NetworkLogDetail::Http);
        let events = TlsEvents::new(recorder.clone(), 7);
        all.into_iter().for_each(|event| events.event(event));
        recorder.report();
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        let (mut hellos, mut alarms, mut lost) = (0, 0, 0);
        for line in text.lines() {
            match serde_json::from_str(line).unwrap() {
                NetworkReport::Record(record) => match record.event {
                    NetworkEvent::Tls(tls) => {
                        assert_eq!(tls.flow, 7);
                        let is_alarm = is_alarm(&tls.event);
                        alarms += u64::from(is_alarm);
                        hellos += u64::from(!is_alarm);
                    }
                    NetworkEvent::Lost { count } => lost += count,
                    event => panic!("{event:?}"),
                },
                NetworkReport::Totals(totals) => assert_eq!(totals.lost_records, lost),
            }
        }
        (hellos, alarms, lost)
    }

    #[test]
    fn what_a_guest_causes_hides_no_alarm_and_all_is_counted() {
        const FLOOD: u64 = 5000;
        let unproved = |sni| EdgeEvent::UpstreamCertificate {
            sni,
            reason: "it closed the connection".to_owned(),
        };
        let kinds: [fn(String) -> EdgeEvent; 2] = [hello, unproved];
        for event in kinds {
            let flood = (0..FLOOD).map(|number| event(format!("{number}.test")));
            let (others, alarms, lost) = reported(flood.chain([reflected()]));
            assert_eq!(alarms, 1);
            assert!(others < FLOOD / 2, "{others}");
            assert_eq!(others + lost, FLOOD);
        }
    }

    #[test]
    fn a_line_that_no_pipe_takes_whole_is_lost() {
        let all = [hello("x".repeat(5000)), hello("x".repeat(1000))];
        assert_eq!(reported(all), (1, 0, 1));
    }
}
