//! Other recorders, other metrics of the program, and the settings of ours.

use metrics::{Unit, counter, describe_histogram, gauge, histogram, with_local_recorder};
use policy_server::{GlobalRecorder, Metrics, prelude::*};
use policy_tests::handlers::hello;

use crate::{openmetrics::Exposition, read};

/// In a test, the recorder of a thread is what is global in a program.
#[test]
fn an_app_counts_by_the_recorder_that_the_program_has_installed() {
    let recorder = Metrics::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    with_local_recorder(&recorder, || {
        let client = App::new(()).metrics(GlobalRecorder).routes(routes![hello]).test();
        runtime.block_on(async {
            client.get("/hello").send().await;
        });
    });
    let name = "http_server_request_duration_seconds_count";
    assert_eq!(read(&recorder).sum(name, &[("http_route", "/hello")]), 1.0);
}

#[test]
fn the_recorder_keeps_what_the_program_counts_itself() {
    let recorder = Metrics::new().label("region", "eu \"1\"\\\n");
    with_local_recorder(&recorder, || {
        counter!("orders.placed", "kind" => "gift\n\"box\"").increment(2);
        counter!("orders.placed_total").increment(1);
        gauge!("stock", "empty" => "").set(-1.5);
        gauge!("stock").decrement(1.0);
        describe_histogram!("packing", Unit::Seconds, "How long\n\"packing\" takes");
        histogram!("packing").record(0.3);
        histogram!("packing").record_many(7.0, 2);
        counter!("1st").absolute(7);
    });
    let text = recorder.text().replace("stock{region=\"eu \\\"1\\\"\\\\\\n\"} -2.5\n", "");
    let read = Exposition::parse(&text);
    let region = ("region", "eu \"1\"\\\n");
    let kind = ("kind", "gift\n\"box\"");
    assert_eq!(read.sum("orders_placed_total", &[kind, region]), 2.0);
    assert_ne!(text, recorder.text(), "the gauge is written, and both calls are of one series");
    assert_eq!(read.sum("packing_seconds_count", &[region]), 3.0);
    assert_eq!(read.sum("packing_seconds_sum", &[]), 14.3);
    assert_eq!(read.families["packing_seconds"], ("histogram".to_owned(), "seconds".to_owned()));
    assert_eq!(read.sum("_1st_total", &[]), 7.0);
    assert_eq!(read.sum("policy_metrics_dropped_series_total", &[]), 1.0, "two of one name");
}

#[test]
fn no_series_is_kept_that_the_format_could_not_tell_from_another() {
    let recorder = Metrics::new().label("region", "eu");
    with_local_recorder(&recorder, || {
        counter!("a").increment(1);
        gauge!("a").set(1.0);
        gauge!("a_total").set(1.0);
        counter!("b", "x.y" => "1", "x_y" => "2").increment(1);
        histogram!("c", "le" => "1").record(1.0);
        counter!("policy.metrics.dropped.series").increment(9);
        counter!("d", "region" => "us").increment(1);
        counter!("e", "__name__" => "a").increment(1);
        counter!("f", "" => "1").increment(1);
        counter!("").increment(1);
        gauge!("_total").set(1.0);
    });
    let read = read(&recorder);
    assert_eq!(read.sum("a_total", &[]), 1.0);
    assert_eq!(read.sum("policy_metrics_dropped_series_total", &[]), 10.0);
    assert_eq!(read.samples.len(), 2);
}

#[tokio::test]
async fn a_series_that_has_no_room_is_counted_and_harms_nothing() {
    let metrics = Metrics::new().max_series(10);
    let client = App::new(()).metrics(&metrics).routes(routes![hello]).test();
    assert_eq!(client.get("/hello").send().await.status(), 200);
    let read = read(&metrics);
    let series = read.samples.keys().filter(|(name, _)| !name.starts_with("policy_metrics"));
    assert_eq!(series.count(), 10, "ten gauges");
    assert!(read.sum("policy_metrics_dropped_series_total", &[]) > 100.0);
}

#[test]
fn a_label_that_no_series_can_have_stops_the_start() {
    for (name, is_valid) in [
        ("region", true),
        ("_private", true),
        ("zone2", true),
        ("", false),
        ("2nd", false),
        ("data-centre", false),
        ("__name__", false),
        ("le", false),
        ("http_route", false),
        ("policy_code", false),
        ("région", false),
    ] {
        let app = App::new(()).metrics(Metrics::new().label(name, "a"));
        let problems = app.check().err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(problems.contains("app.metrics-label"), !is_valid, "`{name}`: {problems}");
    }
    let twice = Metrics::new().label("region", "a").label("region", "b");
    assert!(App::new(()).metrics(twice).check().is_err());
}
