"""What a fix could do, without doing it: which sizes classes get, where numbers would go, which repairs fit."""
