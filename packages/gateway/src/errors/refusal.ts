import { errorMessage, UserError } from './user_error.js';

/** Why something was refused */
export interface Refusal {
  code: string;
  message: string;
  /** Cause, place and fix for people */
  text: string;
}

/** A refusal that another process has explained */
export class RefusedElsewhere extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.message);
  }
}

export function refusalOf(error: unknown): Refusal {
  if (error instanceof RefusedElsewhere) return error.refusal;
  const known =
    error instanceof UserError ? error : new UserError('INTERNAL', errorMessage(error), { hint: 'the log has more' });
  return { code: known.code, message: known.message, text: known.render() };
}
