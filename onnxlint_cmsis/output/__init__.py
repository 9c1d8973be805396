"""What people and programs see: findings, layers, memory, comparisons and pages."""
