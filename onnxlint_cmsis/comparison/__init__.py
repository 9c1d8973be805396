"""Two versions of a model side by side: findings, figures and layers that changed."""
