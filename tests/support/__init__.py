"""What several tests share: places, model builders, random models, fakes."""
