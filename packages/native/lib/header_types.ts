/** Fields of a message that was received: lower-case names, without pseudo-fields such as `:path`. */
export type HeaderMap = Record<string, string | string[]>;

/** Fields of a message to send; an array sends the field several times. */
export type RequestHeaders = Record<string, string | string[]>;
