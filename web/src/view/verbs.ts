/** What can be asked of the server. Nothing of the first view imports it. */
import { Verbs } from '../../../src/doors/client/verbs.ts';
import { client } from './live.ts';

export const verbs = new Verbs(client);
