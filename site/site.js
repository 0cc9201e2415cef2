/* The site's script: search, and arrow keys from lab to lab. Every page can be read without it. */
'use strict';

// The folder of the site: this script stands in its folder site/.
const home = new URL('..', document.currentScript.src).href;

// find(QUERY): the sections that have each word of the query, as [address, page, heading]. A word of the query may be
// the beginning of a longer word. Sections that have the words in their headings stand before others.
function find(query) {
    const asked = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    for (const [number, anchor, heading, words] of SECTIONS) {
        const [page, title] = PAGES[number];
        const has = (text, word) => (' ' + text.toLowerCase()).includes(' ' + word);
        let weight = 0;
        for (const word of asked) {
            if (has(heading, word)) weight += 2;
            else if (has(words, word)) weight += 1;
            else if (!has(title, word)) weight = -Infinity;
        }
        if (weight > 0) found.push([weight, home + page + (anchor && '#' + anchor), title, heading]);
    }
    found.sort((a, b) => b[0] - a[0]); // stable: else in the order of the pages
    return found.map(([, ...section]) => section);
}

// The field of the search, and the list below it. The words are loaded when they are first asked for.
function search() {
    const MOST = 12;
    const box = document.createElement('div');
    box.className = 'search';
    box.setAttribute('role', 'search');
    const field = document.createElement('input');
    field.type = 'search';
    field.placeholder = 'Search';
    field.setAttribute('aria-label', 'Search the site');
    const list = document.createElement('ul');
    list.setAttribute('aria-live', 'polite');
    list.hidden = true;
    box.append(field, list);
    document.querySelector('header.top').append(box);

    function show() {
        list.replaceChildren();
        list.hidden = field.value.trim() === '' || typeof SECTIONS === 'undefined';
        if (list.hidden) return;
        const found = find(field.value);
        for (const [address, title, heading] of found.slice(0, MOST)) {
            const link = document.createElement('a');
            link.href = address;
            link.textContent = title;
            if (heading && heading !== title) {
                const part = document.createElement('span');
                part.textContent = heading;
                link.append(part);
            }
            const item = document.createElement('li');
            item.append(link);
            list.append(item);
        }
        if (found.length === 0 || found.length > MOST) {
            const item = document.createElement('li');
            item.textContent = found.length ? `and ${found.length - MOST} more` : 'Nothing found.';
            list.append(item);
        }
    }

    let loading = false;
    field.addEventListener('focus', () => {
        if (loading) return;
        loading = true;
        const words = document.createElement('script');
        words.src = home + 'site/words.js';
        words.onload = show;
        document.head.append(words);
    });
    field.addEventListener('input', show);
    box.addEventListener('keydown', (event) => {
        const links = [...list.querySelectorAll('a')];
        const at = links.indexOf(document.activeElement);
        if (event.key === 'Escape') {
            field.value = '';
            show();
            field.focus();
        } else if (event.key === 'ArrowDown' && links[at + 1]) {
            links[at + 1].focus();
        } else if (event.key === 'ArrowUp' && at >= 0) {
            (links[at - 1] || field).focus();
        } else if (event.key === 'Enter' && at < 0 && links[0]) {
            links[0].click();
        } else {
            return;
        }
        event.preventDefault();
    });
    return field;
}

const field = search();
document.addEventListener('keydown', (event) => {
    // Keys that go to a field, a scrolled table or a control are not ours.
    if (event.target !== document.body || event.ctrlKey || event.metaKey || event.altKey) return;
    const side = { ArrowLeft: 'prev', ArrowRight: 'next' }[event.key];
    const link = side && document.querySelector(`link[rel=${side}]`);
    if (link) location.href = link.href;
    if (event.key === '/') {
        event.preventDefault();
        field.focus();
    }
});
