-- A second wall around texts: who reads as a viewer (hivelore_viewer, adapters/postgres/wall.py) gets only what the settings
-- of the transaction admit, whatever the statement asks for. The owner of the tables, who writes, is not held up.

ALTER TABLE memory ENABLE ROW LEVEL SECURITY;
CREATE POLICY memory_seen ON memory FOR SELECT USING (
  CASE WHEN scope = 2 THEN current_setting('hivelore.swarm', true) = 'on'
  ELSE current_setting('hivelore.others', true) = 'on' OR owner = current_setting('hivelore.own', true) END
);

ALTER TABLE version ENABLE ROW LEVEL SECURITY;
CREATE POLICY version_seen ON version FOR SELECT USING (
  EXISTS (SELECT 1 FROM memory m WHERE m.namespace = version.namespace AND m.key = version.document)
);

ALTER TABLE chunk ENABLE ROW LEVEL SECURITY;
CREATE POLICY chunk_seen ON chunk FOR SELECT USING (
  EXISTS (SELECT 1 FROM memory m WHERE m.namespace = chunk.namespace AND m.key = chunk.document)
);
