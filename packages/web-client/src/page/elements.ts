/** Returns the element with this id, which the page contains. */
export const find = <Type extends Element>(id: string): Type => document.querySelector<Type>(`#${id}`)!;

/** Writes the text of the element with this id, if it changed. */
export function write(id: string, text: string): void {
  const element = find(id);
  if (element.textContent !== text) element.textContent = text;
}
