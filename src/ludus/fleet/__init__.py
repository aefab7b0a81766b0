"""N hosts seen as one table of rows. A host that is lost takes only its own matches with it."""
