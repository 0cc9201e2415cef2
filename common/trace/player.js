/*
 * player.js - the page as a whole: which step each kernel is at, and what happens on a click or a key.
 * A side is one kernel on the page; one of them leads, and the other follows it.
 */
'use strict';

const byId = id => document.getElementById(id);
const sides = [];
let leader = null, timer = null;

/* ---- one side -------------------------------------------------------------------------------- */

/* The findings' steps of a kernel. */
function flagsOf(kernel) {
  const flags = new Set();
  for (const f of kernel.findings)
    for (const index of [f.step, f.other_step]) if (index >= 0) flags.add(index);
  return flags;
}

/* Lanes that findings mark at this step: {own: those that are found, other: the other threads of these races, if
 * they are of the same warp, elsewhere: in words, if they are not}. */
function marksAt(kernel, step) {
  const own = new Set(), other = new Set(), elsewhere = new Set();
  for (const f of kernel.findings) {
    const here = [[f.step, f.lane, f.other_step, f.other_lane], [f.other_step, f.other_lane, f.step, f.lane]];
    for (const [index, lane, partner, partnerLane] of here) {
      if (index !== step.index || index < 0) continue;
      own.add(lane);
      if (partner < 0) continue;
      if (kernel.steps[partner].warp === step.warp) other.add(partnerLane);
      else elsewhere.add(`lane ${partnerLane} of warp ${kernel.steps[partner].warp}`);
    }
  }
  return {own: [...own], other: [...other], elsewhere: [...elsewhere]};
}

function makeSide(kernels, first) {
  const root = byId('side').content.firstElementChild.cloneNode(true);
  const side = {root, kernels, watched: 0, part: name => root.querySelector('.' + name)};
  kernels.forEach((k, i) => side.part('kernel').append(new Option(
    (k.lab !== first.lab || k.contender !== first.contender || k.precision !== first.precision ? `${k.title} ${k.precision}: ` : '') + k.kernel, i)));
  side.part('kernel').hidden = kernels.length < 2;
  side.part('kernel').addEventListener('change', e => { openKernel(side, kernels[e.target.value]); lead(side); });
  side.part('metric').addEventListener('change', () => { showSource(side); });
  root.addEventListener('pointerdown', () => { if (leader !== side) lead(side); });
  for (let l = 0; l < LANES; l++) {
    const lane = html('button', '', String(l));
    lane.type = 'button';
    lane.style.background = laneColour(l);
    lane.addEventListener('click', () => { side.watched = l; showAll(); });
    side.part('lanes').append(lane);
  }
  byId('sides').append(root);
  sides.push(side);
  return side;
}

/* Opens a kernel where its first finding is, or at the first access of the warp to look at first. */
function openKernel(side, kernel) {
  side.kernel = kernel;
  side.flags = flagsOf(kernel);
  const finding = kernel.findings.find(f => f.step >= 0);
  const warp = kernel.byWarp[kernel.warp].length ? kernel.warp : kernel.byWarp.findIndex(s => s.length);
  side.step = finding ? kernel.steps[finding.step] : kernel.byWarp[Math.max(warp, 0)][0];
  if (finding && finding.lane >= 0) side.watched = finding.lane;
  side.costs = lineCosts(kernel);
  const {at, grid, block} = kernel;
  const shape = v => v[2] > 1 ? v.join(' \u00d7 ') : v[1] > 1 ? `${v[0]} \u00d7 ${v[1]}` : String(v[0]);
  side.part('heading').querySelector('h2').textContent = kernel.title + (kernel.precision === 'fp32' ? '' : ', ' + kernel.precision) + (kernel.tuning ? ` (${kernel.tuning})` : '');
  side.part('place').textContent = `${kernel.kernel}: block ${shape(at)} of ${shape(grid)}, ${shape(block)} threads each (${kernel.why})` +
    (kernel.left_out ? `; ${kernel.left_out.toLocaleString('en')} more steps of this block had no room here` : '') +
    (kernel.status === 'wrong' && !kernel.findings.length ? `. The result is not accepted: ${kernel.message}` : '');
  showFindings(side);
  makeSource(side);
}

function showFindings(side) {
  const {kernel} = side;
  side.part('findings').replaceChildren(...kernel.findings.map((f, i) => {
    const box = html('details', 'finding'), lineOf = where => where.slice(where.lastIndexOf(':') + 1);
    box.open = i === 0;
    box.append(html('summary', '', html('b', '', f.kind), ` at line ${lineOf(f.where)}${f.other ? ` and line ${lineOf(f.other)}` : ''}${f.count > 1 ? `, the first of ${f.count.toLocaleString('en')}` : ''}`));
    const who = f.count > 0 ? `Block (${f.block}), thread (${f.thread}): ` : '';
    box.append(html('p', '', `${who}${f.text}.`));
    if (f.advice) box.append(html('p', '', html('em', '', `Think of: ${f.advice}.`)));
    for (const [index, lane, label, where] of [[f.step, f.lane, 'Go to this access', f.where], [f.other_step, f.other_lane, 'Go to the other thread', f.other]]) {
      if (index < 0) continue;
      const button = html('button', '', `${label}, line ${lineOf(where)}`);
      button.type = 'button';
      button.addEventListener('click', () => { if (lane >= 0) side.watched = lane; goTo(side, kernel.steps[index]); });
      box.append(button);
    }
    if (f.step < 0) box.append(html('small', '', 'This access is not among the recorded steps.'));
    else if (f.other && f.other_step < 0) box.append(html('small', '', `The other access, at ${f.other}, is another block's or lies before the recorded steps.`));
    return box;
  }));
}

/* ---- source ---------------------------------------------------------------------------------- */

/* Lists the file with its costs; made anew only when the kernel or the file changes. */
function makeSource(side, file = side.kernel.file) {
  const text = trace.files[file], list = html('div', 'lines'), {kernel} = side;
  side.file = file;
  side.rows = new Map();
  side.part('file').textContent = file;
  if (text === null || text === undefined) {
    side.part('code').replaceChildren(html('p', 'missing', `${file || 'This source'} has been edited since the program was built, or cannot be read: build it again to see its lines.`));
    return;
  }
  const run = new Set(kernel.places.filter(p => p.file === file).map(p => p.number));
  const faulty = new Set(kernel.findings.flatMap(f => [f.where, f.other]));
  text.replace(/\n$/, '').split('\n').forEach((content, i) => {
    const number = i + 1, row = html('div', 'row');
    row.append(html('span', 'amount'), html('span', 'number', String(number)), html('span', 'text', content || ' '));
    row.dataset.line = number;
    if (run.has(number)) row.classList.add('run');
    if (faulty.has(`${file}:${number}`)) row.classList.add('faulty');
    list.append(row);
    side.rows.set(number, row);
  });
  list.addEventListener('click', e => {
    const row = e.target.closest('.run');
    if (row) jumpToLine(side, +row.dataset.line);
  });
  side.part('code').replaceChildren(list);
  showCosts(side);
}

/* Costs beside the lines: the whole kernel's, the dearest line the warmest. */
function showCosts(side) {
  const metric = side.part('metric').value;
  const most = Math.max(1, ...[...side.costs.values()].map(c => c[metric]));
  for (const [number, row] of side.rows) {
    const cost = side.costs.get(`${side.file}:${number}`), box = row.firstElementChild;
    box.textContent = cost && cost[metric] ? amount(cost[metric]) : '';
    box.style.setProperty('--heat', cost ? Math.round(85 * cost[metric] / most) : 0);
    if (!cost) continue;
    for (const name of Object.keys(cost)) row.dataset[name] = cost[name];
    box.title = `whole kernel: ${cost.requests} requests, ${cost.sectors} sectors, ${cost.conflicts} bank conflicts`;
  }
}

function showSource(side) {
  const place = side.kernel.places[side.step.line];
  if (place.file !== side.file && trace.files[place.file]) makeSource(side, place.file);
  showCosts(side);
  if (side.current) side.current.classList.remove('current');
  side.current = place.file === side.file ? side.rows.get(place.number) : null;
  if (!side.current) return;
  side.current.classList.add('current');
  /* Scrolls the list alone, never the page. */
  const list = side.part('code'), top = side.current.offsetTop, height = side.current.offsetHeight;
  if (top < list.scrollTop + 2 * height || top + 3 * height > list.scrollTop + list.clientHeight)
    list.scrollTop = top - list.clientHeight / 2;
}

/* ---- the step in words ----------------------------------------------------------------------- */

const percent = share => isFinite(share) ? Math.round(100 * share) + ' %' : '\u2013';
const sentence = text => text[0].toUpperCase() + text.slice(1);
const plural = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;

/* Names the elements asked for: "B[3][0] ... B[3][31]", "A.values[12]". */
function wanted(kernel, step) {
  const ends = [step.lanes[0], step.lanes[step.lanes.length - 1]].map(l => nameOf(kernel, step.kind, step.size, step.at[l]));
  return ends[0] === ends[1] ? ends[0] : `${ends[0]} \u2026 ${ends[1]}`;
}

/* Below a half is poor, as in the tables of --counters. */
const verdict = (share, text) => html('span', share < .5 ? 'poor' : share >= 1 ? 'good' : '', text);

function sayGlobal(kernel, step) {
  const moved = step.cost * SECTOR, lines = linesTouched(step).length;
  const useful = step.bytes / moved;
  const parts = [`${sentence(laneList(step.lanes))} ${step.lanes.length === 1 ? 'asks' : 'ask'} for ${plural(laneBytes(step), 'byte')}${step.lanes.length > 1 ? ' each' : ''}: ${wanted(kernel, step)}. `,
                 html('b', '', plural(step.cost, 'sector')), ` of ${plural(lines, 'line')}: ${moved} bytes move for ${step.bytes} asked for, `,
                 verdict(useful, percent(useful)), useful > 1 ? ' (lanes ask for the same). ' : '. ',
                 step.cost > step.ideal ? `Side by side the same bytes would take ${plural(step.ideal, 'sector')}.` : useful > 1 ? '' : 'Fewer are not possible.'];
  if (step.kind === 2 && step.serial > 1) parts.push(` ${step.serial} lanes take turns at one address.`);
  return parts;
}

function sayShared(kernel, step) {
  const conflicts = step.cost - step.ideal;
  const parts = [`${sentence(laneList(step.lanes))} ${step.lanes.length === 1 ? 'asks' : 'ask'} for ${plural(laneBytes(step), 'byte')}${step.lanes.length > 1 ? ' each' : ''}: ${wanted(kernel, step)}. `,
                 html('b', '', plural(step.cost, 'wavefront')), ' through the banks, ',
                 verdict(step.ideal / step.cost, conflicts > 0 ? `${plural(conflicts, 'bank conflict')}` : 'no bank conflict'), '. '];
  if (new Set(step.lanes.map(l => step.at[l])).size === 1 && step.lanes.length > 1) parts.push('One word for all: a broadcast.');
  if (step.kind === 5 && step.serial > 1) parts.push(` ${step.serial} lanes take turns at one address.`);
  return parts;
}

function sayOther(kernel, step) {
  const waits = step.release - step.turn;
  if (step.kind === BARRIER && step.barrier) {
    const last = kernel.steps.filter(s => s.barrier === step.barrier && s.turn === step.release).map(s => s.warp);
    return [waits ? `This warp waits ${plural(waits, 'turn')} for warp ${[...new Set(last)].join(', ')}, which comes last.` : 'This warp comes last: the others have waited for it.'];
  }
  const who = sentence(laneList(step.lanes));
  return [{7: `${who} meet: what they have written before is seen after.`,
           8: `${who} hand each other registers: no memory is touched.`,
           9: `${who} ask each other: no memory is touched.`,
           10: 'The warp multiplies small matrices on a tensor core.',
           11: 'The warp loads a matrix fragment; its rows follow as loads of shared memory.',
           12: 'A copy from global to shared memory is started; its load and its store are steps of the same line.'}[step.kind] || `${who} wait for a barrier in shared memory.`];
}

function showStep(side) {
  const {kernel, step} = side, place = kernel.places[step.line];
  const code = sourceLine(place);
  side.part('what').replaceChildren(html('i', 'dot ' + colourOf(step.kind)), ` ${KINDS[step.kind]}, line ${place.number}: `, html('code', '', code || place.where));
  side.part('say').replaceChildren(...(step.kind < SHARED_LOAD ? sayGlobal(kernel, step) : isAccess(step.kind) ? sayShared(kernel, step) : sayOther(kernel, step)));
}

/* ---- lanes, warps, counters ------------------------------------------------------------------ */

function showLanes(side) {
  const {kernel, step} = side, marks = marksAt(kernel, step), last = kernel.lastOf[step.warp];
  [...side.part('lanes').children].forEach((box, l) => {
    const active = step.lanes.includes(l), over = last[l] < step.ordinal;
    box.classList.toggle('idle', !active);
    box.classList.toggle('over', !active && over);
    box.classList.toggle('chosen', l === side.watched);
    box.classList.toggle('marked', marks.own.includes(l));
    box.classList.toggle('partner', marks.other.includes(l) && !marks.own.includes(l));
    box.setAttribute('aria-pressed', l === side.watched);
    box.title = `lane ${l}: ` + (active ? isAccess(step.kind) ? nameOf(kernel, step.kind, step.size, step.at[l]) : 'takes part' : over ? 'has ended, or has nothing more to do here' : 'does not take part') +
      (marks.own.includes(l) ? '; this is the thread of the finding' : marks.other.includes(l) ? '; this is the other thread' : '');
  });
  const l = side.watched, active = step.lanes.includes(l);
  const found = nonzeroAt(kernel, step, l);
  side.part('watched').textContent = `${step.lanes.length} of 32 lanes active. Watched lane ${l} ` +
    (active ? isAccess(step.kind) ? `asks for ${nameOf(kernel, step.kind, step.size, step.at[l])}` : 'takes part' : last[l] < step.ordinal ? 'has no more to do' : 'does not take part') +
    (found ? `; nonzero at hand: ${found.element}.` : '.') +
    (marks.elsewhere.length ? ` The other thread is ${marks.elsewhere.join(', ')}: red in the time line.` : '');
  return marks;
}

/* Says what a warp does in this turn: its state, and the text for it. */
function warpState(kernel, w, turn) {
  const steps = kernel.byWarp[w];
  if (!steps.length) return ['over', 'does nothing'];
  let low = 0, high = steps.length;  /* the last step that has begun */
  while (low < high) {
    const middle = low + high >> 1;
    if (steps[middle].turn <= turn) low = middle + 1; else high = middle;
  }
  const s = steps[low - 1];
  if (!s) return ['', 'starts'];
  if (s.barrier && s.release > turn) return ['waits', `waits at the barrier of line ${kernel.places[s.line].number}`];
  if (low === steps.length && s.turn < turn) return ['over', 'has ended'];
  return ['', `line ${kernel.places[s.line].number}`];
}

function showWarps(side) {
  const {kernel, step} = side;
  side.part('warps').hidden = kernel.warps < 2;
  side.part('warps').replaceChildren(...kernel.byWarp.map((steps, w) => {
    const [state, text] = warpState(kernel, w, step.turn), chosen = w === step.warp;
    const button = html('button', `${state} ${chosen ? 'chosen' : ''}`, kernel.warps > 8 && !chosen ? `w${w}` : `warp ${w}: ${text}`);
    button.type = 'button';
    button.title = `warp ${w} ${text}`;
    button.disabled = !steps.length;
    button.setAttribute('aria-pressed', chosen);
    button.addEventListener('click', () => goTo(side, nearestStep(kernel, w, step.turn)));
    return button;
  }));
}

/* The step of a warp that runs in a turn, or the one before. */
function nearestStep(kernel, warp, turn) {
  const steps = kernel.byWarp[warp];
  return [...steps].reverse().find(s => s.turn <= turn) || steps[0];
}

function showCounters(side) {
  const {kernel, step} = side, table = side.part('counters');
  const steps = kernel.byWarp[step.warp], all = countSteps(steps), far = countSteps(steps.slice(0, step.ordinal + 1));
  const whole = KINDS.map(() => ({requests: 0, cost: 0}));
  for (const [, kind, , requests, , , cost] of kernel.costs) {
    whole[kind].requests += requests;
    whole[kind].cost += cost;
  }
  const row = (...cells) => html('tr', '', ...cells.map((c, i) => html(i ? 'td' : 'th', '', c)));
  const rows = [html('caption', '', 'Counters so far, of this warp (moved: sectors, or wavefronts of shared memory)'),
                html('tr', '', ...['', 'requests', 'moved', 'each', 'effic.', 'in the whole kernel'].map(t => html('th', '', t)))];
  KINDS.forEach((name, kind) => {
    const n = far.kinds[kind], total = all.kinds[kind];
    if (!total.requests) return;
    if (!isAccess(kind)) return rows.push(row(name, `${n.requests} of ${total.requests}`, '', '', '', ''));
    const useful = isShared(kind) ? n.ideal / n.cost : n.bytes / (SECTOR * n.cost);
    rows.push(row(name, `${n.requests} of ${total.requests}`, String(n.cost), n.requests ? (n.cost / n.requests).toFixed(2) : '\u2013',
                  percent(useful), whole[kind].requests ? `${amount(whole[kind].requests)}, ${amount(whole[kind].cost)}` : ''));
  });
  rows.push(row('lanes active', percent(far.lanes / LANES / far.accesses), '', '', '', ''));
  table.replaceChildren(...rows);
}

function showKey(side) {
  if (side.key) return;
  const kinds = [...new Set(side.kernels.flatMap(k => k.steps.map(s => Math.min(s.kind, 7))))].sort();
  side.key = html('div', 'key', ...kinds.map(k => html('span', '', html('i', 'k' + k), k === 7 ? 'other' : KINDS[k])), html('span', '', 'height: sectors or wavefronts'));
  side.part('timeline').after(side.key);
}

function showSide(side) {
  const {kernel, step} = side;
  drawTimeline(side.part('timeline'), kernel, step, side.flags, s => goTo(side, s));
  showKey(side);
  showWarps(side);
  showStep(side);
  const marks = showLanes(side);
  if (!isAccess(step.kind)) side.part('memory').replaceChildren();
  else (isShared(step.kind) ? drawBanks : drawGlobal)(side.part('memory'), kernel, step, marks.own);
  drawShared(side.part('shared'), kernel, step);
  showSource(side);
  showCounters(side);
  side.root.classList.toggle('leads', side === leader);
}

/* ---- going ----------------------------------------------------------------------------------- */

/* Brings the other side to the step that answers to the leader's. */
function follow(side) {
  const {kernel, step} = leader, how = byId('align').value, note = side.part('aligned');
  let to = null, text = '';
  if (how === 'nonzero') {
    const found = sameNonzero(kernel, step, leader.watched, side.kernel, side.step.warp);
    to = found && found.step;
    text = !found ? 'Before the first nonzero.' : to ? `At nonzero ${found.element}, as ${kernel.title}.` : `Nonzero ${found.element} is not in this block.`;
    const lane = to && [...to.values].find(([, element]) => element === found.element);
    if (lane) side.watched = lane[0];
  } else if (how === 'line') {
    to = sameLineStep(kernel, step, side.kernel, side.step.warp);
    text = to ? `At the line that does the same.` : 'No line here does the same.';
  } else {
    const steps = side.kernel.byWarp[side.step.warp];
    to = steps[Math.min(step.ordinal, steps.length - 1)];
    text = step.ordinal < steps.length ? 'At the same step.' : 'At its end.';
  }
  if (to) side.step = to;
  note.textContent = text;
}

function showAll() {
  for (const side of sides) if (side !== leader) follow(side);
  leader.part('aligned').textContent = sides.length > 1 ? 'Leads: the other follows.' : '';
  sides.forEach(showSide);
  const steps = leader.kernel.byWarp[leader.step.warp];
  byId('position').max = steps.length - 1;
  byId('position').value = leader.step.ordinal;
  byId('count').textContent = `${leader.step.ordinal + 1} of ${steps.length}`;
  byId('play').textContent = timer ? 'Pause' : 'Play';
  keepPlace();
}

function goTo(side, step) {
  if (!step) return;
  side.step = step;
  leader = side;
  showAll();
}

/* Moves the leader by some steps of its warp. */
function move(by) {
  const steps = leader.kernel.byWarp[leader.step.warp];
  goTo(leader, steps[Math.max(0, Math.min(steps.length - 1, leader.step.ordinal + by))]);
}

function lead(side) {
  leader = side;
  showAll();
}

function moveWarp(by) {
  const {kernel, step} = leader;
  for (let w = step.warp + by; w >= 0 && w < kernel.warps; w += by)
    if (kernel.byWarp[w].length) return goTo(leader, nearestStep(kernel, w, step.turn));
}

/* The next step of the warp for which `is` holds, or the one before; from the end on from the start. */
function seek(side, is, forward = true) {
  const steps = side.kernel.byWarp[side.step.warp], count = steps.length;
  for (let i = 1; i <= count; i++) {
    const step = steps[(side.step.ordinal + (forward ? i : count - i)) % count];
    if (is(step)) return goTo(side, step);
  }
}

/* Jumps to the next step of a line of the file that is shown. */
function jumpToLine(side, number) {
  seek(side, s => side.kernel.places[s.line].number === number && side.kernel.places[s.line].file === side.file);
}

function play(on) {
  clearInterval(timer);
  timer = null;
  const steps = leader.kernel.byWarp[leader.step.warp];
  if (on) {
    if (leader.step.ordinal === steps.length - 1) move(-steps.length);
    timer = setInterval(() => {
      const now = leader.kernel.byWarp[leader.step.warp];
      if (leader.step.ordinal >= now.length - 1) play(false); else move(1);
    }, 1000 / byId('speed').value);
  }
  byId('play').textContent = timer ? 'Pause' : 'Play';
}

/* ---- the address of the page: #warp=1&step=20&lane=3&kernel=0&side=0&align=line -------------- */

/* Keeps the place in the address, so that it can be bookmarked or sent to somebody. */
function keepPlace() {
  const side = leader, place = new URLSearchParams({side: sides.indexOf(side), kernel: side.kernels.indexOf(side.kernel),
    warp: side.step.warp, step: side.step.ordinal + 1, lane: side.watched, align: byId('align').value});
  try { history.replaceState(null, '', '#' + place); } catch { /* some browsers refuse it to files */ }
}

function readPlace() {
  const place = new URLSearchParams(location.hash.slice(1)), number = name => parseInt(place.get(name), 10);
  if (place.get('theme')) setTheme(place.get('theme'));
  if (place.get('align')) byId('align').value = place.get('align');
  const side = sides[number('side')] || sides[0];
  const kernel = side.kernels[number('kernel')];
  if (kernel && kernel !== side.kernel) openKernel(side, kernel);
  const warp = side.kernel.byWarp[number('warp')] || side.kernel.byWarp[side.step.warp];
  if (number('lane') >= 0 && number('lane') < LANES) side.watched = number('lane');
  leader = side;
  const line = number('line');
  const step = warp[number('step') - 1] || (line && warp.find(s => side.kernel.places[s.line].number === line));
  if (step) side.step = step;
}

/* ---- light and dark -------------------------------------------------------------------------- */

const THEMES = ['system', 'light', 'dark'];
function setTheme(theme) {
  if (!THEMES.includes(theme)) return;
  document.documentElement.style.colorScheme = theme === 'system' ? '' : theme;
  byId('theme').textContent = 'Theme: ' + theme;
  byId('theme').dataset.theme = theme;
}

const nextTheme = () => setTheme(THEMES[(THEMES.indexOf(byId('theme').dataset.theme || 'system') + 1) % THEMES.length]);

/* ---- keys and buttons ------------------------------------------------------------------------ */

const KEYS = {
  ' ': () => play(!timer),
  ArrowLeft: e => move(e.shiftKey ? -10 : -1),
  ArrowRight: e => move(e.shiftKey ? 10 : 1),
  ArrowUp: () => moveWarp(-1),
  ArrowDown: () => moveWarp(1),
  Home: () => move(-Infinity),
  End: () => move(Infinity),
  n: () => seek(leader, s => s.line === leader.step.line),
  p: () => seek(leader, s => s.line === leader.step.line, false),
  w: () => seek(leader, s => s.cost > s.ideal),
  l: () => byId('line').focus(),
  s: () => lead(sides[(sides.indexOf(leader) + 1) % sides.length]),
  t: nextTheme,
  '?': () => byId('help').showModal(),
};

function onKey(event) {
  const types = event.target.closest('input, select, textarea, dialog');
  const presses = event.target.closest('button') && event.key === ' ';
  if (types || presses || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key](event);
}

function wire() {
  byId('first').addEventListener('click', () => move(-Infinity));
  byId('back').addEventListener('click', () => move(-1));
  byId('play').addEventListener('click', () => play(!timer));
  byId('step').addEventListener('click', () => move(1));
  byId('last').addEventListener('click', () => move(Infinity));
  byId('position').addEventListener('input', e => goTo(leader, leader.kernel.byWarp[leader.step.warp][e.target.value]));
  byId('speed').addEventListener('change', () => { if (timer) play(true); });
  byId('line').addEventListener('change', e => { jumpToLine(leader, +e.target.value); e.target.blur(); });
  byId('align').addEventListener('change', showAll);
  byId('theme').addEventListener('click', nextTheme);
  byId('help-button').addEventListener('click', () => byId('help').showModal());
  document.addEventListener('keydown', onKey);
  let waiting = null;
  window.addEventListener('resize', () => { clearTimeout(waiting); waiting = setTimeout(showAll, 150); });
}

/* ---- start ----------------------------------------------------------------------------------- */

/* A side for each lab if two were asked for: the earlier one on the left. */
function start() {
  const kernels = trace.kernels.filter(k => k.steps.length);
  if (!kernels.length) return byId('sides').append(html('p', 'missing', 'Nothing was recorded: the block makes no access and meets no barrier.'));
  const labs = trace.side_by_side ? [...new Set(kernels.map(k => k.lab))] : [null];
  for (const lab of labs) {
    const own = kernels.filter(k => lab === null || k.lab === lab);
    openKernel(makeSide(own, own[0]), own[0]);
  }
  leader = sides[0];
  byId('sides').classList.toggle('two', sides.length > 1);
  byId('align-label').hidden = sides.length < 2;
  const both = sides.every(s => s.kernel.arrays.some(a => a.name === FOLLOWED));
  if (!both) byId('align').value = 'line';
  byId('title').textContent = sides.map(s => s.kernel.title).join(' beside ');
  document.title = `${byId('title').textContent}, step by step: ${trace.dataset}`;
  byId('subtitle').textContent = `${trace.dataset}: ${trace.rows.toLocaleString('en')} \u00d7 ${trace.cols.toLocaleString('en')}, ` +
    `${trace.nnz.toLocaleString('en')} nonzeros; ${trace.width_name} = ${trace.width}`;
  /* A finding is what to look at first. */
  leader = sides.find(s => s.kernel.findings.length) || leader;
  wire();
  readPlace();
  showAll();
}
start();
