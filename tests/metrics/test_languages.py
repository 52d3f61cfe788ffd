"""Every language with the defaults: a good answer scores near 1, a bad one clearly lower."""
# ruff: noqa: E501

import polars as pl
import pytest

import polars_evals as pe
from tests.texts import SHARED, has_unspaced_letters

# The right answer, the same with a word more, and another statement.
ANSWERS = {
    "English": ("Paris is the capital of France and lies on the Seine", "Yes, Paris is the capital of France and lies on the Seine", "Goats give milk that farmers turn into cheese"),
    "German": ("Paris ist die Hauptstadt von Frankreich und liegt an der Seine", "Ja, Paris ist die Hauptstadt von Frankreich und liegt an der Seine", "Ziegen geben Milch, aus der Bauern Käse machen"),
    "French": ("Paris est la capitale de la France et se trouve sur la Seine", "Oui, Paris est la capitale de la France et se trouve sur la Seine", "Les chèvres donnent du lait dont on fait un fromage"),
    "Spanish": ("París es la capital de Francia y está a orillas del Sena", "Sí, París es la capital de Francia y está a orillas del Sena", "Las cabras dan leche con que hacen queso"),
    "Portuguese": ("Paris é a capital da França e fica às margens do Sena", "Sim, Paris é a capital da França e fica às margens do Sena", "As cabras dão leite que vira queijo"),
    "Italian": ("Parigi è la capitale della Francia e si trova sulla Senna", "Sì, Parigi è la capitale della Francia e si trova sulla Senna", "Le capre danno latte per fare il formaggio"),
    "Dutch": ("Parijs is de hoofdstad van Frankrijk en ligt aan de Seine", "Ja, Parijs is de hoofdstad van Frankrijk en ligt aan de Seine", "Geiten geven melk waarvan boeren kaas maken"),
    "Swedish": ("Paris är huvudstad i Frankrike och ligger vid floden Seine", "Ja, Paris är huvudstad i Frankrike och ligger vid floden Seine", "Getter ger mjölk som bönder gör ost av"),
    "Polish": ("Paryż jest stolicą Francji i leży nad rzeką Sekwaną", "Tak, Paryż jest stolicą Francji i leży nad rzeką Sekwaną", "Kozy dają mleko, z którego robi się ser"),
    "Czech": ("Paříž je hlavní město Francie a leží na řece Seině", "Ano, Paříž je hlavní město Francie a leží na řece Seině", "Kozy dávají mléko, ze kterého se dělá sýr"),
    "Hungarian": ("Párizs Franciaország fővárosa és a Szajna partján fekszik", "Igen, Párizs Franciaország fővárosa és a Szajna partján fekszik", "Kecskék tejéből sajtot készítenek gazdák"),
    "Finnish": ("Pariisi on Ranskan pääkaupunki ja sijaitsee Seinen varrella", "Kyllä, Pariisi on Ranskan pääkaupunki ja sijaitsee Seinen varrella", "Vuohet antavat maitoa, josta tehdään juustoa"),
    "Turkish": ("Paris Fransa'nın başkentidir ve Seine nehri kıyısında yer alır", "Evet, Paris Fransa'nın başkentidir ve Seine nehri kıyısında yer alır", "Keçiler süt verir, köylüler peynir yapar"),
    "Russian": ("Париж является столицей Франции и стоит на реке Сене", "Да, Париж является столицей Франции и стоит на реке Сене", "Козы дают молоко, из которого делают сыр"),
    "Ukrainian": ("Париж є столицею Франції і стоїть на річці Сені", "Так, Париж є столицею Франції і стоїть на річці Сені", "Кози дають молоко, з якого роблять сир"),
    "Greek": ("Το Παρίσι είναι πρωτεύουσα της Γαλλίας και βρίσκεται στον Σηκουάνα", "Ναι, το Παρίσι είναι πρωτεύουσα της Γαλλίας και βρίσκεται στον Σηκουάνα", "Οι κατσίκες δίνουν γάλα για τυρί"),
    "Hebrew": ("פריז היא בירת צרפת והיא שוכנת על גדות הסן", "כן, פריז היא בירת צרפת והיא שוכנת על גדות הסן", "עזים נותנות חלב שממנו מכינים גבינה"),
    "Arabic": ("باريس هي عاصمة فرنسا وتقع على ضفاف نهر السين", "نعم، باريس هي عاصمة فرنسا وتقع على ضفاف نهر السين", "الماعز يعطي الحليب لصنع الجبن"),
    "Persian": ("پاریس پایتخت فرانسه است و در کنار رود سن قرار دارد", "بله، پاریس پایتخت فرانسه است و در کنار رود سن قرار دارد", "بزها شیر می‌دهند که پنیر می‌شود"),
    "Hindi": ("पेरिस फ्रांस की राजधानी है और सीन नदी के किनारे बसा है", "हाँ, पेरिस फ्रांस की राजधानी है और सीन नदी के किनारे बसा है", "बकरियाँ दूध देती हैं जिससे पनीर बनता"),
    "Bengali": ("প্যারিস ফ্রান্সের রাজধানী এবং সেন নদীর তীরে এই শহর অবস্থিত", "হ্যাঁ, প্যারিস ফ্রান্সের রাজধানী এবং সেন নদীর তীরে এই শহর অবস্থিত", "ছাগল দুধ দেয় যা থেকে পনির হয়"),
    "Tamil": ("பாரிஸ் பிரான்சின் தலைநகரம் அது செய்ன் ஆற்றின் கரையில் அழகாக அமைந்துள்ளது", "ஆம், பாரிஸ் பிரான்சின் தலைநகரம் அது செய்ன் ஆற்றின் கரையில் அழகாக அமைந்துள்ளது", "ஆடுகள் பால் கொடுக்கும்"),
    "Korean": ("파리는 프랑스의 수도이며 유명한 센 강 가에 자리 잡고 있다", "네, 파리는 프랑스의 수도이며 유명한 센 강 가에 자리 잡고 있다", "염소는 치즈를 만드는 우유를 준다"),
    "Vietnamese": ("Paris là thủ đô của nước Pháp và nằm bên bờ sông Seine", "Vâng, Paris là thủ đô của nước Pháp và nằm bên bờ sông Seine", "Dê cho sữa để làm phô mai"),
    "Indonesian": ("Paris adalah ibu kota Prancis dan terletak di tepi sungai Seine", "Ya, Paris adalah ibu kota Prancis dan terletak di tepi sungai Seine", "Kambing memberi susu untuk keju"),
    "Chinese": ("巴黎是法国的首都，位于塞纳河畔", "是的，巴黎是法国的首都，位于塞纳河畔。", "山羊产奶，农民用它做奶酪"),
    "Japanese": ("パリはフランスの首都で、セーヌ川のほとりにある", "はい、パリはフランスの首都で、セーヌ川のほとりにある。", "山羊の乳からチーズを作る農家が多い"),
    "Thai": ("ปารีสเป็นเมืองหลวงของฝรั่งเศสและตั้งอยู่ริมแม่น้ำแซน", "ใช่ ปารีสเป็นเมืองหลวงของฝรั่งเศสและตั้งอยู่ริมแม่น้ำแซน", "แพะให้นมซึ่งชาวนานำไปทำเนยแข็ง"),
    "Lao": ("ປາຣີເປັນນະຄອນຫຼວງຂອງຝຣັ່ງ ແລະຕັ້ງຢູ່ແຄມແມ່ນ້ຳແຊນ", "ແມ່ນ ປາຣີເປັນນະຄອນຫຼວງຂອງຝຣັ່ງ ແລະຕັ້ງຢູ່ແຄມແມ່ນ້ຳແຊນ", "ແບ້ໃຫ້ນົມ ຊາວນາເຮັດເນີຍແຂງ"),
    "Khmer": ("ប៉ារីសជារដ្ឋធានីរបស់បារាំង ហើយស្ថិតនៅមាត់ទន្លេសែន", "បាទ ប៉ារីសជារដ្ឋធានីរបស់បារាំង ហើយស្ថិតនៅមាត់ទន្លេសែន", "ពពែផ្តល់ទឹកដោះគោសម្រាប់ធ្វើឈីស"),
    "Burmese": ("ပါရီသည် ပြင်သစ်နိုင်ငံ၏ မြို့တော်ဖြစ်ပြီး စိန်းမြစ်ကမ်းတွင် တည်ရှိသည်", "ဟုတ်ကဲ့ ပါရီသည် ပြင်သစ်နိုင်ငံ၏ မြို့တော်ဖြစ်ပြီး စိန်းမြစ်ကမ်းတွင် တည်ရှိသည်", "ဆိတ်များ နို့ပေး၍ ဒိန်ခဲ လုပ်ကြသည်"),
}  # fmt: skip

METRICS = [pe.jaccard, pe.recall, pe.token_f1, pe.similarity, pe.wer, pe.cer, pe.rouge, pe.chrf]
# Two texts in one script share many letters, whatever they say.
LARGEST_BAD, LEAST_GAP = 0.65, 0.3


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)
@pytest.mark.parametrize("language", ANSWERS)
def test_good_and_bad_answers(language: str, metric: type) -> None:
    right, good, bad = ANSWERS[language]
    frame = pl.DataFrame({"output": [right, right + " \n", good, bad], "expected": right})
    same, spaced, fine, wrong = frame.select(metric("output", "expected")).to_series().struct.field("score")
    assert same == spaced == 1.0
    assert fine >= 0.7
    assert wrong <= LARGEST_BAD
    assert wrong < fine - LEAST_GAP


def test_thirty_languages_are_here() -> None:
    assert len(ANSWERS) >= 30
    assert sum(has_unspaced_letters(right) for right, *_ in ANSWERS.values()) == 6


@pytest.mark.skipif(not SHARED.exists(), reason="the real texts are not here")
@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)
def test_real_texts_with_small_changes_and_other_texts(metric: type) -> None:
    """Passages of manual pages in six languages: with a twentieth of the text gone, and against another."""
    texts = pl.read_parquet(SHARED / "languages.parquet").group_by("language", maintain_order=True).head(40)
    size = pl.col("expected").str.len_chars()
    changed = pl.col("expected").str.head(size * 17 // 20) + pl.col("expected").str.tail(size // 10)
    scored = texts.select(
        "language",
        good=metric(changed, "expected").struct.field("score"),
        bad=metric("output", "expected").struct.field("score"),
    )
    means = scored.group_by("language").mean()
    assert means.height == 6
    assert means["good"].min() > 0.9, means  # type: ignore[operator]
    assert (means["good"] - means["bad"]).min() > 0.15, means  # type: ignore[operator]
