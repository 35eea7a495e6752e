/** Fields by which client and server agree on the protocol of a session (draft-ietf-webtrans-http3-16 §3.3) */
export const offerHeader = 'wt-available-protocols';
export const choiceHeader = 'wt-protocol';

/** A quoted string of a structured field (RFC 9651 §3.3.3), with parameters that do not matter, and the comma behind it */
const item = /\s*"((?:[ !#-[\]-~]|\\["\\])*)"(?:;[^",]*)*\s*(?:,|$)/y;

/** Returns the first of the protocols that the client offers and this side speaks. A field that is malformed counts as none. */
export function chooseProtocol(
  spoken: readonly string[] | undefined,
  offer: string | string[] | undefined,
): string | undefined {
  if (spoken === undefined || offer === undefined) return undefined;
  return parseOffer([offer].flat().join(','))?.find((protocol) => spoken.includes(protocol));
}

function parseOffer(text: string): string[] | undefined {
  const protocols: string[] = [];
  item.lastIndex = 0;
  while (item.lastIndex < text.length) {
    const match = item.exec(text);
    if (match === null) return undefined;
    protocols.push(match[1]!.replaceAll(/\\(["\\])/g, '$1'));
  }
  return protocols;
}
