const KEPT = 40;

/** A list of what happened, the latest first */
export class EventList {
  constructor(private readonly list: HTMLElement) {}

  /** `mark`: class that gives the event its colour */
  tell(text: string, mark?: string): void {
    const item = document.createElement('li');
    if (mark !== undefined) item.className = `mark ${mark}`;
    const time = document.createElement('time');
    time.textContent = new Date().toLocaleTimeString([], {
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hour12: false,
    });
    item.append(time, text);
    this.list.prepend(item);
    while (this.list.childElementCount > KEPT) this.list.lastElementChild?.remove();
  }
}
