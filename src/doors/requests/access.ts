/**
 * Who may ask for what, for every door alike (spec 12).
 *
 * ACC1  `observe` reads, `operate` does everything, `session:<id>` does what is declared for sessions, within what that session reaches.
 */
import type { Offstage } from '../../engine/offstage.ts';
import type { ActionSchema } from './action-schemas.ts';
import { type CallerIdentity, sessionOfScope } from './caller-identity.ts';
import { forbidden, type Verbs, verbsOfSession } from './session-verbs.ts';

/** The verbs that this caller has for this action. @throws OffstageError `access.forbidden` */
export function verbsFor(offstage: Offstage, action: string, schema: ActionSchema, { scope }: CallerIdentity): Verbs {
  if (scope === 'operate') return offstage;
  if (scope === 'observe') {
    if (schema.scope === 'observe') return offstage;
    throw forbidden(`${action} needs the scope operate, and this one has observe`);
  }
  if (!schema.isForSessions) throw forbidden(`${action} is not for the token of a session`);
  return verbsOfSession(offstage, sessionOfScope(scope) as string);
}
