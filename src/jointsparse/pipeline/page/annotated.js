"use strict";
// Draws the annotated photographs of the page's data, in chunks. Text enters the page only as text (textContent).
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const AT_ONCE = 200; // photographs in the page at a time
  const byName = new Intl.Collator("en", { numeric: true }).compare;
  const at = (id) => document.getElementById(id);
  const photos = data.photos.map((photo) => {
    const map = (place, i) => i < photo.n_maps && photo.file.replace(".webp", `-${String(place).padStart(3, "0")}.webp`);
    return { ...photo, tags: photo.tags.map(([place, p, above, has], i) => ({ place, p, above, has, map: map(place, i) })) };
  });
  const state = { place: null, first: 0, matching: [] }; // the tag asked for, and the first photograph of the chunk

  function element(tag, properties, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  function isShown(tag) {
    return (at("own").checked ? tag.above : tag.p >= Number(at("least").value)) && !(at("new").checked && tag.has);
  }

  // Draw everything anew after a control has changed.
  function update() {
    at("probability").textContent = at("own").checked ? "" : Number(at("least").value).toFixed(2);
    for (const photo of photos) photo.shown = photo.tags.filter(isShown);
    const asked = (photo) => photo.shown.find((tag) => tag.place === state.place);
    state.matching = photos.filter((photo) => (state.place === null ? photo.shown.length || !at("new").checked : asked(photo)));
    const p = (photo) => ((state.place === null ? photo.shown[0] : asked(photo)) || { p: 0 }).p;
    if (at("order").value === "name") state.matching.sort((a, b) => byName(a.name, b.name));
    if (at("order").value === "probability") state.matching.sort((a, b) => p(b) - p(a));
    state.first = 0;
    listTags();
    draw();
  }

  function listTags() {
    const counts = data.words.map(() => 0), sought = at("seek").value.trim().toLowerCase();
    for (const photo of photos) for (const tag of photo.shown) counts[tag.place] += 1;
    const listed = [...counts.keys()].filter((place) => place === state.place || (counts[place] && data.words[place].toLowerCase().includes(sought)));
    listed.sort((a, b) => counts[b] - counts[a]);
    at("tags").replaceChildren(...listed.map((place) => {
      const button = element("button", { type: "button" }, element("bdi", {}, data.words[place]), ` ${counts[place].toLocaleString("en")}`);
      button.setAttribute("aria-pressed", String(place === state.place));
      button.addEventListener("click", () => {
        state.place = place === state.place ? null : place;
        update();
        at("tags").children[listed.indexOf(place)].focus(); // the buttons are new, in the same order
      });
      return button;
    }), listed.length ? "" : "no tag");
  }

  function draw() {
    const { first, matching } = state, end = Math.min(first + AT_ONCE, matching.length), of = photos.length.toLocaleString("en");
    at("found").replaceChildren(`${matching.length.toLocaleString("en")} of ${of} photographs`, ...(state.place === null ? [] : [" with “", element("bdi", {}, data.words[state.place]), "”"]));
    at("shown").replaceChildren(...matching.slice(first, end).map(card));
    for (const place of document.querySelectorAll(".place")) place.textContent = matching.length > AT_ONCE ? `${(first + 1).toLocaleString("en")} to ${end.toLocaleString("en")}` : "";
    for (const button of document.querySelectorAll(".chunk button")) button.hidden = button.value < 0 ? !first : end === matching.length;
  }

  function card(photo) {
    const sight = element("a", { className: "mapped", href: photo.original, target: "_blank", rel: "noopener", title: "Open the file" });
    const thumbnail = element("img", { src: photo.file, alt: photo.name, loading: "lazy" });
    const show = (tag) => sight.replaceChildren(thumbnail, ...(tag ? [element("img", { src: tag.map, alt: `map of “${data.words[tag.place]}”`, loading: "lazy" })] : []));
    show(photo.shown.find((tag) => tag.map && (state.place === null || tag.place === state.place)));
    const tags = photo.shown.map((tag) => {
      const word = element(tag.above ? "strong" : "span", {}, element("bdi", {}, data.words[tag.place]));
      const button = element(tag.map ? "button" : "span", { title: tag.has ? "The photograph has this tag already" : "" }, tag.has ? "✓ " : "", word, ` ${tag.p.toFixed(2)}`);
      if (tag.map) button.addEventListener("click", () => {
        const pressed = button.getAttribute("aria-pressed") !== "true";
        for (const other of button.parentElement.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button && pressed));
        sight.classList.toggle("shown", pressed);
        show(tag);
      });
      return button;
    });
    const alike = photo.alike.map(([name, file]) => element("figure", {}, ...(file ? [element("img", { src: file, alt: "", loading: "lazy" })] : []), element("figcaption", {}, element("bdi", {}, name))));
    const known = element("details", {}, element("summary", {}, "similar photographs"), element("div", { className: "alike" }, ...alike));
    return element("figure", {}, sight, element("figcaption", {}, element("bdi", {}, photo.name), element("div", { className: "chips" }, ...tags), known));
  }

  for (const id of ["order", "own", "new"]) at(id).addEventListener("change", update);
  at("seek").addEventListener("input", listTags);
  at("least").addEventListener("input", () => {
    at("own").checked = false;
    update();
  });
  for (const button of document.querySelectorAll(".chunk button")) button.addEventListener("click", () => {
    state.first += Number(button.value) * AT_ONCE;
    draw();
    at("found").scrollIntoView();
  });
  update();
})();
