"""From a finding to a proven new file: planning, repairs, edits, proof, and the order of it all."""
