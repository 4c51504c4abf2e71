-- The last links to a memory are read without the others.
DROP INDEX link_target;
CREATE INDEX link_target ON link (namespace, target, kind, source);
