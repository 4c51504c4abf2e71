-- Late interaction: what the tokens of a passage mean, of the models that tell; codes as policies/late_interaction.py writes
-- them. A row goes with the one of the same passage and model in the table vector.
CREATE TABLE token_vectors (
  namespace INTEGER NOT NULL,
  model     INTEGER NOT NULL,
  passage   INTEGER NOT NULL,
  codes     BLOB NOT NULL,
  PRIMARY KEY (namespace, model, passage)
);
