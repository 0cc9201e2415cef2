/*
 * trace.js - checks of a page of --trace in a browser: put behind the page's own scripts, it clicks, presses keys
 * and looks at what has changed. It leaves a line a check in an element "verdict".
 */
const verdicts = [];
const check = (text, holds) => verdicts.push((holds ? 'ok ' : 'not ok ') + text);
const press = (key, more = {}) => document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, ...more}));
const countShown = () => byId('count').textContent;
const side = () => leader.root;
const all = (root, selector) => [...root.querySelectorAll(selector)];

/* The page as it was opened, before anything is touched. */
const opened = leader.step, finding = leader.kernel.findings.find(f => f.step >= 0);
if (finding) {
  check('opens at the finding', opened.index === finding.step);
  const marked = all(side(), '.lanes .marked').map(l => +l.textContent);
  check('the thread of the finding is marked', marked.length === 1 && marked[0] === finding.lane);
  const other = leader.kernel.steps[finding.other_step];
  if (other) {
    const note = side().querySelector('.watched').textContent;
    check('both threads are marked', other.warp === opened.warp ? all(side(), '.lanes .partner').length === 1
      : note.includes(`lane ${finding.other_lane} of warp ${other.warp}`));
    check('flags in the time line', all(side(), '.detail .flag').length >= 2);
    all(side(), '.finding button')[1].click();
    check('goes to the other thread', leader.step === other);
  }
} else {
  const place = new URLSearchParams(location.hash.slice(1));
  check('opens where the address says', opened.ordinal + 1 === +(place.get('step') || 1) && opened.warp === +place.get('warp'));
}

/* Buttons and keys. */
byId('first').click();
const count = leader.kernel.byWarp[leader.step.warp].length;
check('starts at the first step', countShown() === `1 of ${count}`);
if (count > 12) {
  const before = side().querySelector('.what').textContent + side().querySelector('.say').textContent;
  byId('step').click();
  check('step shows the second', countShown() === `2 of ${count}`);
  press('ArrowRight');
  check('an arrow shows the third', countShown() === `3 of ${count}`);
  press('ArrowRight', {shiftKey: true});
  check('with shift ten more', countShown() === `13 of ${count}`);
  check('the step in words has changed', side().querySelector('.what').textContent + side().querySelector('.say').textContent !== before);
  byId('back').click();
  check('back', countShown() === `12 of ${count}`);
}
press('End');
check('the end', countShown() === `${count} of ${count}`);
const total = countSteps(leader.kernel.byWarp[leader.step.warp]).kinds.findIndex(k => k.requests);
check('all is counted at the end', side().querySelector('.counters').textContent.includes(
  (n => `${n} of ${n}`)(leader.kernel.byWarp[leader.step.warp].filter(s => s.kind === total).length)));
press('Home');
check('home', countShown() === `1 of ${count}`);

/* Lines, warps, lanes. */
const rows = all(side(), '.code .run');
check('the current line is marked', all(side(), '.code .current').length === 1);
rows[rows.length - 1].click();
check('a click on a line goes to a step of it, if this warp has one',
  all(side(), '.code .current')[0] === rows[rows.length - 1] ||
  !leader.kernel.byWarp[leader.step.warp].some(s => leader.kernel.places[s.line].number === +rows[rows.length - 1].dataset.line));
byId('line').value = rows[0].dataset.line;
byId('line').dispatchEvent(new Event('change'));
check('the field jumps to a line', leader.kernel.places[leader.step.line].number === +rows[0].dataset.line);
const chips = all(side(), '.warps button:not([disabled])');
if (chips.length > 1) {
  chips[1].click();
  check('a click shows another warp', all(side(), '.warps .chosen')[0].textContent.startsWith('w') && leader.step.warp === 1);
}
all(side(), '.lanes button')[7].click();
check('a click watches a lane', side().querySelector('.watched').textContent.includes('lane 7'));
const schemes = new Set(THEMES.map(() => { byId('theme').click(); return document.documentElement.style.colorScheme; }));
check('the theme changes', ['', 'light', 'dark'].every(scheme => schemes.has(scheme)));

/* Costs beside the source are the recording's own, for each line. */
const costs = lineCosts(leader.kernel);
check('some of these lines have costs', rows.some(row => costs.has(`${leader.file}:${row.dataset.line}`)));
check('costs beside the lines', rows.every(row => {
  const cost = costs.get(`${leader.file}:${row.dataset.line}`);
  return !cost || (+row.dataset.requests === cost.requests && +row.dataset.sectors === cost.sectors && +row.dataset.conflicts === cost.conflicts);
}));
const mostSectors = Math.max(1, ...[...costs.values()].map(c => c.sectors));
check('the dearer a line, the warmer', rows.every(row => {
  const cost = costs.get(`${leader.file}:${row.dataset.line}`);
  return +row.firstElementChild.style.getPropertyValue('--heat') === Math.round(85 * (cost ? cost.sectors : 0) / mostSectors);
}));

/* Drawings show what was counted, for every step. */
const bad = [];
for (const kernel of trace.kernels)
  for (const s of kernel.steps)
    if ((s.kind < 2 && sectorsTouched(s) !== s.cost) || ((s.kind === 3 || s.kind === 4) && wavefronts(s).length !== s.cost))
      bad.push(`${kernel.kernel} step ${s.index}: ${KINDS[s.kind]}`);
check('sectors and wavefronts as counted' + bad.slice(0, 3).join('; '), bad.length === 0);
const kinds = new Set(leader.kernel.steps.map(s => s.kind));
for (const kind of [0, 1, 3, 4].filter(k => kinds.has(k))) {
  goTo(leader, leader.kernel.steps.find(s => s.kind === kind));
  const drawn = kind < 2 ? all(side(), '.memory .moved').length : Math.max(...all(side(), '.memory .asked').map(b => +b.getAttribute('y'))) / 16 | 0;
  check(`${KINDS[kind]} is drawn`, kind < 2 ? drawn === leader.step.cost : drawn === leader.step.cost - 1);
}
const stores = leader.kernel.steps.filter(s => s.kind === 4);
if (stores.length) {
  goTo(leader, stores[0]);
  const few = all(side(), '.shared .asked').length;
  goTo(leader, leader.kernel.steps.reduce((a, b) => b.turn > a.turn ? b : a));
  check('shared memory fills', few > 0 && all(side(), '.shared .asked').length > few || stores.length === 1);
}
const waiting = leader.kernel.steps.find(s => s.barrier && s.release > s.turn + 1);
if (waiting) {
  goTo(leader, nearestStep(leader.kernel, leader.kernel.steps.find(s => s.barrier === waiting.barrier && s.turn === waiting.release).warp, waiting.release));
  goTo(leader, leader.step);
  const state = warpState(leader.kernel, waiting.warp, waiting.turn + 1);
  check('a warp waits at a barrier', state[0] === 'waits' && all(side(), '.detail .wait').length > 0);
}

/* Two kernels. */
if (sides.length > 1) {
  goTo(sides[0], sides[0].kernel.steps.filter(s => nonzeroAt(sides[0].kernel, s, 0))[20]);
  const [a, b] = sides.map(s => nonzeroAt(s.kernel, s.step, s.watched).element);
  check('the other side is at the same nonzero', a === b && sides[1].part('aligned').textContent.includes(a));
  byId('align').value = 'line';
  byId('align').dispatchEvent(new Event('change'));
  check('the other side is at the line that does the same', sourceLine(sides[0].kernel.places[sides[0].step.line]) === sourceLine(sides[1].kernel.places[sides[1].step.line]));
  press('s');
  check('the other side can lead', leader === sides[1] && sides[1].root.classList.contains('leads'));
}

/* Playing takes time. */
press('Home');
const start_ = leader.step.ordinal, steps_ = leader.kernel.byWarp[leader.step.warp].length;
byId('speed').value = '10';
byId('play').click();
check('play offers to pause', byId('play').textContent === 'Pause');
setTimeout(() => {
  const reached = leader.step.ordinal;
  if (steps_ > 12) check('play goes on', reached - start_ >= 5 && reached - start_ <= 12);
  else check('play ends at the end', reached === steps_ - 1);
  if (timer) press(' ');
  check('space pauses', byId('play').textContent === 'Play');
  const paused = leader.step.ordinal;
  setTimeout(() => {
    check('and it stays', leader.step.ordinal === paused);
    check('nothing is wider than the window', document.documentElement.scrollWidth <= innerWidth);
    check('no errors ' + errors.join(), errors.length === 0);
    const verdict = document.createElement('pre');
    verdict.id = 'verdict';
    verdict.textContent = '\n' + verdicts.join('\n') + '\n';
    document.body.append(verdict);
  }, 500);
}, 1050);
