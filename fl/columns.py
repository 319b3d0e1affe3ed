"""The columns of the three tables that a run leaves."""

import pyarrow as pa

ROUNDS = pa.schema(
    [
        ("round", pa.int32()),
        ("start_s", pa.float64()),
        ("end_s", pa.float64()),
        ("latency_s", pa.float64()),
        ("straggler", pa.int32()),
        ("deadline_s", pa.float64()),
        ("deadline_missed", pa.bool_()),
        ("arrived", pa.int32()),
        ("uplink_bits", pa.int64()),
        ("mean_pruning_ratio", pa.float64()),
        ("train_loss", pa.float64()),
        ("test_loss", pa.float64()),
        ("test_accuracy", pa.float64()),
        ("test_accuracy_std", pa.float64()),
        ("fewest_keepers", pa.int32()),
    ]
)
DEVICES = pa.schema(
    [
        ("round", pa.int32()),
        ("device", pa.int32()),
        ("bandwidth_fraction", pa.float64()),
        ("pruning_ratio", pa.float64()),
        ("snr_db", pa.float64()),
        ("status", pa.dictionary(pa.int8(), pa.string())),
        ("predicted_latency_s", pa.float64()),
        ("latency_s", pa.float64()),
        ("broadcast_s", pa.float64()),
        ("personal_s", pa.float64()),
        ("warmup_s", pa.float64()),
        ("prune_s", pa.float64()),
        ("global_s", pa.float64()),
        ("lost_s", pa.float64()),
        ("upload_s", pa.float64()),
        ("backhaul_s", pa.float64()),
        ("offline_s", pa.float64()),
        ("wait_s", pa.float64()),
        ("slowed_s", pa.float64()),
        ("attempts", pa.int16()),
        ("upload_bits", pa.int64()),
        ("arrived", pa.bool_()),
        ("outcome", pa.dictionary(pa.int8(), pa.string())),
        ("train_loss", pa.float64()),
        ("test_loss", pa.float64()),
        ("test_accuracy", pa.float64()),
    ]
)
EVENTS = pa.schema(
    [
        ("round", pa.int32()),
        ("device", pa.int32()),
        ("phase", pa.dictionary(pa.int8(), pa.string())),
        ("start_s", pa.float64()),
        ("end_s", pa.float64()),
        ("slowed_s", pa.float64()),
    ]
)

TABLES = {"rounds": ROUNDS, "devices": DEVICES, "events": EVENTS}
