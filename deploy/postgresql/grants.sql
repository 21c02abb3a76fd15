-- Accounts with as little as they need, beside the owner of the tables (make_tables.py); run as the owner or a superuser.
-- None of them may change a schema, and so none can drop the triggers that let tables take only inserts.
--
--   aioc_guard     a service with guards: asks for approvals, uses them up, counts budgets, writes its audit
--   aioc_reviewer  `aioc-opa approvals …`: reads, votes, ends, removes stored arguments, settles what is unfinished,
--                  and writes the audit of that
--   aioc_auditor   `aioc-opa audit verify|tail|export|report`, and the approvals: reads
--
-- Give each a way to log in, and a limit that fits: ALTER ROLE aioc_guard LOGIN CONNECTION LIMIT 60 PASSWORD '…';
CREATE ROLE aioc_guard NOLOGIN;
CREATE ROLE aioc_reviewer NOLOGIN;
CREATE ROLE aioc_auditor NOLOGIN;

REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO aioc_guard, aioc_reviewer, aioc_auditor;

-- What was decided, used up and written is there for good: inserts, and no more.
-- A reviewer's account writes the audit of votes (`approvals … --audit`), each person as a writer with a key of their own.
GRANT SELECT, INSERT ON aioc_audit_records TO aioc_guard, aioc_reviewer;
GRANT SELECT, INSERT ON
    aioc_approval_votes, aioc_approval_endings, aioc_approval_access, aioc_effect_ends
    TO aioc_guard, aioc_reviewer;
GRANT SELECT, INSERT ON aioc_effect_intents, aioc_approval_consumptions, aioc_call_claims TO aioc_guard;
GRANT SELECT ON aioc_effect_intents, aioc_approval_consumptions, aioc_call_claims TO aioc_reviewer;

-- A request's row follows its state, and loses its arguments when they are removed.
GRANT SELECT, INSERT, UPDATE (state, payload) ON aioc_approvals TO aioc_guard;
GRANT SELECT, UPDATE (state, payload) ON aioc_approvals TO aioc_reviewer;

-- Counters, which may also be forgotten.
GRANT SELECT, INSERT, UPDATE, DELETE ON aioc_budgets TO aioc_guard;

GRANT SELECT ON aioc_schema_versions TO aioc_guard, aioc_reviewer, aioc_auditor;
GRANT SELECT ON
    aioc_audit_records, aioc_approvals, aioc_approval_votes, aioc_approval_endings, aioc_approval_access,
    aioc_effect_intents, aioc_effect_ends, aioc_approval_consumptions, aioc_call_claims
    TO aioc_auditor;
