"""From a finding to a proven new file: repairs, edits, proof, and the order of it all."""
