"""Choose the size of every dimension class: candidates, prices, exact search, policies."""
