"""A zip or a folder as an exporter wrote it -> data/raw and an option of conf/data; a film -> frames; a run -> labels
to correct.
"""
