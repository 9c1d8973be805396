"""Which size every dimension class should have on the targets: candidates, prices, an exact search, policies."""
