use std::path::PathBuf;
use std::sync::Arc;

use image_store::Form;
use msb_client::{Error, Force, Operation, Shared};
use serde_json::{Map, Value};

use crate::{
    HistoryStep, Image, LoadOptions, LoadRequest, LoggedIn, LoggedOut, LoginOptions, PackRequest,
    PruneOptions, Pruned, Pull, PullOptions, PullRequest, PushRequest, RemovedImage, SaveOptions,
    SaveRequest, VerifyRequest, history, image, load, login, pack, prune, pull, remove, save, tag,
};

/// The images in the store.
///
/// ```no_run
/// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
/// for image in msb.images().list().await? {
///     println!("{} {}", image.reference().unwrap_or("<none>"), image.digest());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Images {
    shared: Arc<Shared>,
}

impl Images {
    /// Returns the images in the store of a client.
    pub const fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Pulls an image from a registry.
    ///
    /// # Errors
    /// [`Unauthorized`](msb_client::ErrorKind::Unauthorized),
    /// [`ImageNotFound`](msb_client::ErrorKind::ImageNotFound),
    /// [`RegistryError`](msb_client::ErrorKind::RegistryError), or another
    /// [`PullError`](msb_client::ErrorKind::PullError).
    pub fn pull(&self, name: impl Into<String>) -> PullRequest {
        PullRequest::new(Arc::clone(&self.shared), name.into())
    }

    /// Pulls an image with these options.
    ///
    /// # Errors
    /// Fails as [`pull`](Self::pull) does.
    pub fn pull_with(&self, options: PullOptions) -> Operation<Image> {
        pull::pull_with(Arc::clone(&self.shared), options)
    }

    /// Begins a pull with these options, on the current Tokio runtime, and returns its progress.
    pub fn watch_with(&self, options: PullOptions) -> Pull {
        Pull::begin(Arc::clone(&self.shared), options)
    }

    /// Loads the images of an archive: a directory with an OCI layout, an OCI archive or a docker
    /// archive.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let images = msb.images().load("app.tar").tag("app:dev").await?;
    /// # let _ = images;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`PathNotFound`](msb_client::ErrorKind::PathNotFound), or [`PullError`](msb_client::ErrorKind::PullError)
    /// for an archive that cannot be used.
    pub fn load(&self, path: impl Into<PathBuf>) -> LoadRequest {
        LoadRequest::new(Arc::clone(&self.shared), path.into())
    }

    /// Loads the images of an archive with these options.
    ///
    /// # Errors
    /// Fails as [`load`](Self::load) does.
    pub fn load_with(&self, options: LoadOptions) -> Operation<Vec<Image>> {
        load::load_with(Arc::clone(&self.shared), options)
    }

    /// Pushes an image to a registry, under its own name or another one.
    ///
    /// Layers that the registry has are not sent, and those of other repositories there are mounted.
    /// The rest is streamed from where it was pulled from, or made anew from the store. The manifest
    /// comes last.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let pushed = msb.images().push("app:dev").to("ghcr.io/me/app:1").await?;
    /// println!("{}", pushed.digest);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ImageNotFound`](msb_client::ErrorKind::ImageNotFound) if it is not in the store,
    /// [`Unauthorized`](msb_client::ErrorKind::Unauthorized) or
    /// [`RegistryError`](msb_client::ErrorKind::RegistryError) if the registry refuses something,
    /// [`Unsupported`](msb_client::ErrorKind::Unsupported) if a layer can be had from nowhere. Nothing is
    /// published then.
    pub fn push(&self, name: impl Into<String>) -> PushRequest {
        PushRequest::new(Arc::clone(&self.shared), name.into())
    }

    /// Logs in to a registry: checks the password, and keeps it where docker keeps it, in its
    /// `config.json` or with its credential helper. Pulls and pushes use it from then on.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let mut options = msb_sdk::LoginOptions::default();
    /// options.registry = Some("ghcr.io".to_owned());
    /// options.username = "me".to_owned();
    /// options.password = std::env::var("REGISTRY_TOKEN").unwrap_or_default();
    /// msb.images().login(options).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Unauthorized`](msb_client::ErrorKind::Unauthorized) if the registry does not accept the
    /// password, [`RegistryError`](msb_client::ErrorKind::RegistryError) if it cannot be asked. Nothing is
    /// kept then.
    pub fn login(&self, options: LoginOptions) -> Operation<LoggedIn> {
        login::login(Arc::clone(&self.shared), options)
    }

    /// Removes the password for a registry, Docker Hub if it is `None`, from docker's `config.json`
    /// and its credential helper.
    ///
    /// # Errors
    /// If the config or the helper cannot be read or changed.
    pub fn logout(&self, registry: Option<String>) -> Operation<LoggedOut> {
        login::logout(registry)
    }

    /// Returns the image with this name, digest, or beginning of a digest.
    ///
    /// # Errors
    /// [`ImageNotFound`](msb_client::ErrorKind::ImageNotFound) if it is not in the store.
    pub fn get(&self, name: impl Into<String>) -> Operation<Image> {
        let (shared, name) = (Arc::clone(&self.shared), name.into());
        Operation::new(async move {
            let image = shared
                .with_home(move |shared| Ok::<_, Error>(shared.store()?.find(&name)?))
                .await?;
            Ok(Image::stored(&shared, image, Vec::new()))
        })
    }

    /// Returns every image, once for each of its names, sorted by name and digest.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn list(&self) -> Operation<Vec<Image>> {
        let shared = Arc::clone(&self.shared);
        Operation::new(async move {
            let images = shared
                .with_home(|shared| Ok::<_, Error>(shared.store()?.images()?))
                .await?;
            let images = images.into_iter();
            Ok(images.map(|image| Image::listed(&shared, image)).collect())
        })
    }

    /// Returns an image's record and the paths of its artifacts.
    ///
    /// # Errors
    /// [`ImageNotFound`](msb_client::ErrorKind::ImageNotFound) if it is not in the store.
    pub fn inspect(&self, name: impl Into<String>) -> Operation<Map<String, Value>> {
        image::inspect(Arc::clone(&self.shared), name.into())
    }

    /// Returns an image's merged metadata as text, byte range by byte range.
    ///
    /// # Errors
    /// [`ImageNotFound`](msb_client::ErrorKind::ImageNotFound), or metadata that cannot be read.
    pub fn dump(&self, name: impl Into<String>) -> Operation<String> {
        let (shared, name) = (Arc::clone(&self.shared), name.into());
        Operation::new(async move {
            shared
                .with_home(move |shared| image::dump(&shared.store()?.find(&name)?))
                .await
        })
    }

    /// Compares images with the checksums that were recorded when they were written. Without names
    /// it verifies everything in the home, kernels and boot disks too.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// let verified = msb.images().verify(["debian"]).repair(true).await?;
    /// assert!(verified.is_intact());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ImageNotFound`](msb_client::ErrorKind::ImageNotFound), or files that cannot be read. Damage is
    /// no error.
    pub fn verify<T: Into<String>>(&self, names: impl IntoIterator<Item = T>) -> VerifyRequest {
        let names = names.into_iter().map(Into::into).collect();
        VerifyRequest::new(Arc::clone(&self.shared), names)
    }

    /// Packs the layers of images: they take a third to a half of the space, and sandboxes run on them as before. All
    /// images are packed if none is named.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// for image in msb.images().pack(["debian"]).await? {
    ///     println!("{} takes {} bytes", image.digest, image.disk_bytes);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ImageNotFound`](msb_client::ErrorKind::ImageNotFound), a damaged layer, or a full disk. Layers that were packed
    /// before stay packed.
    pub fn pack<T: Into<String>>(&self, names: impl IntoIterator<Item = T>) -> PackRequest {
        self.with_form(names, Form::Packed)
    }

    /// Makes the plain forms of images' layers again, which other programs read. All images are unpacked if none is
    /// named.
    ///
    /// # Errors
    /// Fails as [`pack`](Self::pack) does.
    pub fn unpack<T: Into<String>>(&self, names: impl IntoIterator<Item = T>) -> PackRequest {
        self.with_form(names, Form::Plain)
    }

    fn with_form<T: Into<String>>(
        &self,
        names: impl IntoIterator<Item = T>,
        form: Form,
    ) -> PackRequest {
        let names = names.into_iter().map(Into::into).collect();
        PackRequest::new(Arc::clone(&self.shared), names, form)
    }

    /// Packs layers whose images were not used for a while, as the settings say, and keeps the cache files of packed
    /// layers below their limit. msb begins it by itself, in the background.
    ///
    /// # Errors
    /// If the store cannot be read, or its disk is full.
    pub fn maintain(&self) -> Operation<()> {
        pack::maintain(Arc::clone(&self.shared))
    }

    /// Returns the steps in which an image was made, as its config tells them, the last one first.
    ///
    /// # Errors
    /// [`ImageNotFound`](msb_client::ErrorKind::ImageNotFound) if it is not in the store,
    /// [`Unsupported`](msb_client::ErrorKind::Unsupported) if an older msb stored it, which kept no
    /// config.
    pub fn history(&self, name: impl Into<String>) -> Operation<Vec<HistoryStep>> {
        history::history(Arc::clone(&self.shared), name.into())
    }

    /// Saves images as an archive, which is complete or absent, at a path. Layers are the tars that
    /// they came as, bit for bit, and the same images give the same archive.
    ///
    /// ```no_run
    /// # async fn example(msb: &msb_sdk::Msb) -> Result<(), msb_sdk::Error> {
    /// msb.images().save(["app:dev"], "app.tar").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ImageNotFound`](msb_client::ErrorKind::ImageNotFound) if an image is not in the store,
    /// [`Unsupported`](msb_client::ErrorKind::Unsupported) if an older msb stored it, or a path that
    /// cannot be written.
    pub fn save<T: Into<String>>(
        &self,
        names: impl IntoIterator<Item = T>,
        path: impl Into<PathBuf>,
    ) -> SaveRequest {
        let names = names.into_iter().map(Into::into).collect();
        SaveRequest::new(Arc::clone(&self.shared), names, Some(path.into()))
    }

    /// Saves images as an archive that is to be written to a stream, with
    /// [`SaveRequest::write_to`].
    pub fn save_stream<T: Into<String>>(&self, names: impl IntoIterator<Item = T>) -> SaveRequest {
        let names = names.into_iter().map(Into::into).collect();
        SaveRequest::new(Arc::clone(&self.shared), names, None)
    }

    /// Saves images as an archive with these options.
    ///
    /// # Errors
    /// Fails as [`save`](Self::save) does.
    pub fn save_with(&self, options: SaveOptions) -> Operation<()> {
        save::save_with(Arc::clone(&self.shared), options)
    }

    /// Gives an image a further name. If the name is another image's, it leads to this one from
    /// then on.
    ///
    /// # Errors
    /// [`ImageNotFound`](msb_client::ErrorKind::ImageNotFound) if the image is not in the store,
    /// [`InvalidArgument`](msb_client::ErrorKind::InvalidArgument) for a name that an image cannot have.
    pub fn tag(&self, image: impl Into<String>, name: impl Into<String>) -> Operation<()> {
        tag::tag(Arc::clone(&self.shared), image.into(), name.into())
    }

    /// Removes a name of an image, and with its last name the image. [`Force::Yes`] removes images
    /// of stopped sandboxes too, which can then not be started any more.
    ///
    /// # Errors
    /// [`ImageNotFound`](msb_client::ErrorKind::ImageNotFound),
    /// [`ImageInUse`](msb_client::ErrorKind::ImageInUse) if a sandbox is of the image.
    pub fn remove(&self, name: impl Into<String>, force: Force) -> Operation<RemovedImage> {
        remove::remove(Arc::clone(&self.shared), name.into(), force)
    }

    /// Removes images that have no name and that no sandbox uses, and unfinished files of processes
    /// that no longer run.
    ///
    /// # Errors
    /// [`Busy`](msb_client::ErrorKind::Busy) while images are pulled or loaded.
    pub fn prune(&self) -> Operation<Pruned> {
        self.prune_with(PruneOptions::default())
    }

    /// Removes images with these options.
    ///
    /// # Errors
    /// Fails as [`prune`](Self::prune) does.
    pub fn prune_with(&self, options: PruneOptions) -> Operation<Pruned> {
        prune::prune(Arc::clone(&self.shared), options)
    }
}
