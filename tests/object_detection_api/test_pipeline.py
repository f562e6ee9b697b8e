"""What render_config writes for that API, read by protobuf's own parser."""

from bakeoff.object_detection_api.pipeline import imported, pipeline_config


def test_every_detection_option_is_written_as_a_pipeline_that_protobuf_reads(detector, variant, manifest, parse):
    text = pipeline_config(variant(model=detector), manifest)
    read = parse(text)
    assert read.model.ssd.num_classes == 3
    assert read.IsInitialized()
    got = imported(text.encode(), "p")
    print("\n".join(got.report))
