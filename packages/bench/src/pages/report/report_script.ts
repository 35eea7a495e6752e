/**
 * Shows one measure of all settings, and one setting in detail. The setting is chosen by its three parts and kept in
 * the address.
 */
export const REPORT_SCRIPT = `
'use strict';
const sections = [...document.querySelectorAll('.details')];
const buttons = [...document.querySelectorAll('nav button')];
const parts = ['page', 'tree', 'level'];
function show(id) {
  const section = sections.find((candidate) => candidate.dataset.setting === id) ?? sections[0];
  if (!section) return;
  for (const candidate of sections) candidate.hidden = candidate !== section;
  const row = document.querySelector('tr[data-setting="' + section.dataset.setting + '"]');
  for (const other of document.querySelectorAll('tr[data-setting]')) other.classList.toggle('chosen', other.dataset.setting === section.dataset.setting);
  const names = [...row.querySelectorAll('th')].map((cell) => cell.textContent);
  for (const button of buttons) button.setAttribute('aria-pressed', String(names[parts.indexOf(button.dataset.part)] === button.dataset.name));
  history.replaceState(null, '', '#' + section.dataset.setting);
}
function chosen() {
  return parts.map((part) => buttons.find((button) => button.dataset.part === part && button.getAttribute('aria-pressed') === 'true')?.dataset.name);
}
for (const button of buttons) {
  button.addEventListener('click', () => {
    const names = chosen();
    names[parts.indexOf(button.dataset.part)] = button.dataset.name;
    show(names.join('-'));
  });
}
for (const button of document.querySelectorAll('button[data-metric]')) {
  button.addEventListener('click', () => {
    for (const other of document.querySelectorAll('button[data-metric]')) other.setAttribute('aria-pressed', String(other === button));
    for (const table of document.querySelectorAll('[data-overview]')) table.hidden = table.dataset.overview !== button.dataset.metric;
  });
}
for (const row of document.querySelectorAll('tr[data-setting]')) {
  row.addEventListener('click', () => {
    show(row.dataset.setting);
    document.getElementById('details').scrollIntoView({ behavior: 'smooth' });
  });
}
show(location.hash.slice(1));
`;
