"""The hand-written questions and answers behind the example traces, one module a topic."""
